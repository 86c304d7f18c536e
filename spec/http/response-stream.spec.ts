/** Responses whose content is written in pieces. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResponseStream } from '../../src/http/response-stream.ts';
import { heldServer, request } from './held-application.ts';

const HEAD = /^HTTP\/1\.1 201 Created\r\nDate: [^\r]+\r\nContent-Type: text\/plain\r\n/;

/** A server whose client has requested a stream. */
function streaming(text = request('/stream')) {
  const held = heldServer();
  held.socket.receive(text);
  const [stream] = held.application.streams as [ResponseStream];
  return { ...held, stream, settle: () => held.clock.settle() };
}

/** Returns the content of a chunked response at the end of the text. */
function dechunked(text: string): string {
  let content = '';
  for (let at = text.indexOf('\r\n\r\n') + 4; ; ) {
    const end = text.indexOf('\r\n', at);
    const length = Number.parseInt(text.slice(at, end), 16);
    content += text.slice(end + 2, end + 2 + length);
    at = end + 4 + length;
    if (length === 0) {
      assert.equal(at, text.length, 'bytes after the last chunk');
      return content;
    }
  }
}

describe('A stream', () => {
  it('is chunked in HTTP/1.1, with its own status, content type and fields', () => {
    const { socket, stream, settle, assertAtRest } = streaming();
    assert(stream.write(Buffer.from('one')));
    assert(stream.write(Buffer.from('two')));
    settle();
    assert.match(socket.text, HEAD);
    assert.match(
      socket.text,
      /\r\nTransfer-Encoding: chunked\r\nX-Stream: yes\r\n\r\n3\r\none\r\n/,
    );
    stream.end();
    settle();
    assert.equal(dechunked(socket.text), 'onetwo');
    assert(!socket.writableEnded);
    assertAtRest();
  });

  it('has no empty chunk, which would end it', () => {
    const { socket, stream, settle } = streaming();
    stream.write(Buffer.alloc(0));
    stream.write(Buffer.from('a'));
    stream.end();
    settle();
    assert.equal(dechunked(socket.text), 'a');
  });

  it('extends to the end of the connection in HTTP/1.0', () => {
    const text = request('/stream').replace('HTTP/1.1', 'HTTP/1.0\r\nConnection: keep-alive');
    const { socket, stream, settle, assertAtRest } = streaming(text);
    stream.write(Buffer.from('one'));
    stream.write(Buffer.from('two'));
    stream.end();
    settle();
    assert.match(socket.text, /\r\nX-Stream: yes\r\nConnection: close\r\n\r\nonetwo$/);
    assert.doesNotMatch(socket.text, /chunked/);
    assert(socket.writableEnded);
    assertAtRest();
  });

  it('has only a head in response to HEAD', () => {
    const { socket, stream, settle, assertAtRest } = streaming(request('/stream', '', 'HEAD'));
    assert(!stream.takesContent);
    assert(stream.write(Buffer.alloc(1_000_000)));
    stream.end();
    settle();
    assert.match(socket.text, /chunked\r\nX-Stream: yes\r\n\r\n$/);
    assertAtRest();
  });

  it('begins after all earlier responses, and later requests begin after its end', () => {
    const texts = request('/late/a') + request('/stream') + request('/now/z');
    const { application, socket, settle, assertAtRest } = streaming(texts);
    assert.equal(application.streams.length, 0);
    application.answer('a');
    settle();
    const [stream] = application.streams as [ResponseStream];
    assert.deepEqual(application.begun, ['a', 'stream']);
    stream.write(Buffer.from('s'));
    stream.end();
    settle();
    assert.deepEqual(application.begun, ['a', 'stream', 'z']);
    assert.match(socket.text, /\r\n1\r\ns\r\n0\r\n\r\nHTTP\/1\.1 200 OK\r\n.*z$/s);
    assertAtRest();
  });

  it('makes the writer wait, and calls it when the client has read enough', () => {
    const { application, socket, stream, settle, assertAtRest } = streaming();
    settle();
    socket.isStuck = true;
    assert(stream.write(Buffer.alloc(1000)));
    settle();
    assert(!stream.write(Buffer.alloc(100_000, 'x')));
    settle();
    assert.equal(application.roomCount, 0);
    for (let turn = 0; turn < 10 && application.roomCount === 0; turn++) {
      socket.take();
      settle();
    }
    assert.equal(application.roomCount, 1);
    socket.unstick();
    settle();
    stream.end();
    settle();
    assert.equal(dechunked(socket.text).length, 101_000);
    assertAtRest();
  });

  it('ignores content after its client has disconnected, and frees its slot at its end', () => {
    for (let count = 0; count < 3; count++) {
      const { application, socket, stream, assertAtRest, clock, server } = streaming();
      if (count > 0) stream.write(Buffer.alloc(100_000));
      if (count > 1) clock.settle();
      socket.destroy();
      assert(!stream.takesContent);
      assert(stream.write(Buffer.alloc(100_000)), 'the handler must not wait for room');
      assert.deepEqual(
        application.streams,
        [],
        'its handler was asked to finish, and has ended it',
      );
      assertAtRest();
      assert.equal(server.connectionCount, 0);
      assert.equal(server.deadlines.count, 0);
    }
  });

  it('ends the connection if it is cut', () => {
    const { socket, stream, settle, assertAtRest } = streaming();
    stream.write(Buffer.from('one'));
    settle();
    stream.cut();
    assert(socket.isDestroyed);
    assert.doesNotMatch(socket.text, /\r\n0\r\n\r\n$/);
    assertAtRest();
  });

  it('is ended by its handler while the server drains, and its connection ends', () => {
    const { server, socket, stream, settle, assertAtRest, clock } = streaming();
    stream.write(Buffer.from('one'));
    void server.drain();
    settle();
    stream.write(Buffer.from('two'));
    stream.end();
    settle();
    assert.equal(dechunked(socket.text), 'onetwo');
    clock.advance(1000);
    assert(socket.writableEnded);
    assertAtRest();
  });
});
