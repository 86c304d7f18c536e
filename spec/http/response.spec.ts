/** Responses of any status, with any content: written at once, buffered, delayed, replaced. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Span } from '../../src/base/span.ts';
import type { Request } from '../../src/http/request.ts';
import { heldServer, request, sequenceDelay } from './held-application.ts';

const LONG = 100_000;

interface Wanted {
  readonly status: number;
  readonly type?: string;
  readonly content?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly isPinned?: boolean;
}

/** Responds; the bytes are overwritten after the call, except pinned ones. Returns the releases. */
function respond(request: Request, wanted: Wanted): { count: number } {
  const { status, type = '', content = '', fields, isPinned = false } = wanted;
  const released = { count: 0 };
  if (status >= 400) request.note('PATH_UNKNOWN', 'refused');
  const response = request.draft(status);
  const spans = [Span.of(type), Span.of(content)] as const;
  [response.contentType, response.content] = spans;
  response.fields = fields;
  if (isPinned) response.pinned = { isCounted: true, release: () => released.count++ };
  request.send(response);
  for (const { bytes } of isPinned ? spans.slice(0, 1) : spans) bytes.fill(0xdd);
  request.draft(500, 7, 7).content = Span.of('another response');
  return released;
}

const RESPONSES: readonly Wanted[] = [
  { status: 200 },
  { status: 204 },
  { status: 200, type: 'a/b', content: 'value' },
  { status: 200, content: 'value', fields: { ETag: '"1"' } },
  { status: 201, type: 'a/b', content: 'created', fields: { Location: '/x' } },
  { status: 206, type: 'a/b', content: 'alu', fields: { 'Content-Range': 'bytes 1-3/5' } },
  { status: 206, type: 'a/b', content: 'p'.repeat(LONG), isPinned: true },
  { status: 304, fields: { ETag: '"1"' } },
  { status: 304, type: 'a/b', content: 'not sent', isPinned: true },
  { status: 404, type: 'a/b', content: 'p'.repeat(LONG), isPinned: true },
  { status: 412, content: 'no' },
];

/** Returns the complete text of a response, without the Date field. */
function textOf({ status, type, content = '', fields = {} }: Wanted, isHead: boolean): string {
  const isBodiless = status === 204 || status === 304;
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  if (!isBodiless) lines.unshift(`Content-Length: ${content.length}`);
  if (type !== undefined) lines.unshift(`Content-Type: ${type}`);
  const end = ['', isBodiless || isHead ? '' : content].join('\r\n');
  return [...lines, end].join('\r\n');
}

/** Returns the sent responses without status lines and Date fields, and the statuses. */
function withoutDates(text: string): string[] {
  return text.split(/HTTP\/1\.1 (\d+) .*\r\nDate: .*\r\n/).slice(1);
}

describe('A response', () => {
  for (const method of ['GET', 'HEAD']) {
    it(`to ${method} may have any status, content and fields`, () => {
      for (const wanted of RESPONSES) {
        const { socket, application, clock, assertAtRest } = heldServer();
        socket.receive(request('/late/a', '', method));
        const released = respond(application.remove('a'), wanted);
        clock.settle();
        const expected = [String(wanted.status), textOf(wanted, method === 'HEAD')];
        assert.deepEqual(withoutDates(socket.text), expected);
        assert.equal(released.count, wanted.isPinned ? 1 : 0);
        assertAtRest();
      }
    });
  }

  it('is the same if it is buffered, and owns its bytes', () => {
    for (const wanted of RESPONSES) {
      const { socket, application, clock, server, assertAtRest } = heldServer();
      socket.receive(request('/late/a') + request('/late/b'));
      const released = respond(application.remove('b'), wanted);
      assert.equal(server.inFlight.usedBytes, wanted.content?.length ?? 0);
      application.answer('a');
      clock.settle();
      const [, , ...second] = withoutDates(socket.text);
      assert.deepEqual(second, [String(wanted.status), textOf(wanted, false)]);
      assert.equal(released.count, wanted.isPinned ? 1 : 0);
      assertAtRest();
    }
  });

  it('is dropped once if its client disconnects before or after it is buffered', () => {
    for (const isBefore of [false, true]) {
      const { socket, application, assertAtRest } = heldServer();
      application.finishesNow = false;
      socket.receive(request('/late/a') + request('/late/b'));
      const wanted = { status: 206, content: 'p'.repeat(LONG), isPinned: true };
      const second = application.remove('b');
      if (isBefore) socket.destroy();
      const released = respond(second, wanted);
      socket.destroy();
      application.answer('a');
      assert.equal(released.count, 1);
      assertAtRest();
    }
  });

  it('that was sent in part is completed, while later ones are replaced', () => {
    const { delay } = sequenceDelay();
    const { socket, application, clock, server } = heldServer({}, delay);
    socket.receive(request('/late/a') + request('/late/b'));
    clock.settle();
    socket.isStuck = true;
    respond(application.remove('a'), { status: 200, content: 'p'.repeat(LONG), isPinned: true });
    clock.settle();
    const late = application.remove('b');
    late.respondEmpty(200, 0, 1);
    clock.settle();
    server.failDelayed();
    socket.unstick();
    clock.settle();
    const [first, content, second] = withoutDates(socket.text);
    assert.deepEqual([first, content?.endsWith('p'.repeat(LONG)), second], ['200', true, '503']);
  });
});

describe('A piece of a stream', () => {
  /** A server with a stream, whose head has been sent. */
  function streaming() {
    const { state, delay } = sequenceDelay();
    const held = heldServer({}, delay);
    held.socket.receive(request('/stream'));
    held.clock.settle();
    const [stream] = held.application.streams;
    return { ...held, state, stream: stream! };
  }

  for (const length of [3, LONG / 2]) {
    it(`of ${length} bytes waits for what it depends on, as do later ones`, () => {
      const { socket, clock, server, state, stream, assertAtRest } = streaming();
      const head = socket.text;
      stream.write(Buffer.alloc(length, 'a'), 0, 5);
      stream.write(Buffer.alloc(length, 'b'));
      clock.settle();
      assert.equal(socket.text, head);
      state.upTo = 5;
      server.release();
      stream.end();
      clock.settle();
      assert.equal(socket.text.match(/a/g)?.length, length + (head.match(/a/g)?.length ?? 0));
      assert.match(socket.text, /bbb\r\n0\r\n\r\n$/);
      assertAtRest();
    });

    it(`of ${length} bytes that may not be sent any more ends the connection`, () => {
      const { socket, clock, server, stream, assertAtRest } = streaming();
      stream.write(Buffer.alloc(length, 'a'), 0, 5);
      clock.settle();
      server.failDelayed();
      assert(socket.isDestroyed);
      assertAtRest();
    });
  }

  it('without dependencies is sent although responses of others are replaced', () => {
    const { socket, clock, server, stream } = streaming();
    socket.isStuck = true;
    stream.write(Buffer.from('one'));
    clock.settle();
    stream.write(Buffer.from('two'));
    clock.settle();
    server.failDelayed();
    socket.unstick();
    stream.end();
    clock.settle();
    assert.match(socket.text, /one\r\n3\r\ntwo\r\n0\r\n\r\n$/);
  });
});

describe('A client behind a stream', () => {
  it('is watched: its disconnect is noticed even if it has sent requests', () => {
    const { socket, application, clock, assertAtRest } = heldServer();
    socket.receive(request('/stream') + request('/now/a'));
    clock.settle();
    assert(!socket.isPaused);
    socket.receive(request('/now/b'));
    assert(!socket.isPaused);
    socket.destroy();
    assert.deepEqual(application.streams, []);
    assertAtRest();
  });

  it('that sends more requests than may wait is disconnected', () => {
    const { socket, server, clock, assertAtRest } = heldServer({ pipelineMax: 3 });
    socket.receive(request('/stream') + request('/now/a').repeat(3));
    clock.settle();
    assert(!socket.isDestroyed);
    socket.receive(request('/now/a'));
    assert(socket.isDestroyed);
    assert.equal(server.connectionCount, 0);
    assertAtRest();
  });
});
