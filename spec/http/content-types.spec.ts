/**
 * Covers src/http/response.ts. Stored content types in responses: an invalid field value is
 * omitted, whatever its source.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FOREVER } from '../../src/engine/engine.ts';
import { span } from '../engine/results.ts';
import { client, get, poll } from './test-client.ts';
import { createTestServer } from './test-server.ts';

const SPLIT = 'text/html\r\nSet-Cookie: a=b\r\n\r\n<script>';
const none = { onResult() {} };

/** Returns a server whose engine stores this type, as a log or a program may cause. */
function served(type: string | Buffer, length = 5) {
  let warnings = 0;
  const test = createTestServer({}, { onBadType: () => warnings++ });
  const value = span('v'.repeat(length));
  const { engine } = test;
  engine.set(span('m'), span('k'), value, span(type), FOREVER, undefined, none);
  engine.offer(span('q'), value, span(type), none);
  return { ...client(test), warnings: () => warnings };
}

describe('a stored content type', () => {
  for (const [name, type] of [
    ['with line ends', SPLIT],
    ['with a NUL', 'a\0b'],
    ['with a control character', 'a\x1bb'],
    ['that is too long', 't'.repeat(50_000)],
  ] as const) {
    for (const version of ['1.1', '1.0']) {
      it(`${name} is omitted from a response of HTTP/${version}`, () => {
        for (const length of [5, 70_000]) {
          const { socket, warnings } = served(type, length);
          const of = (request: string) => request.replace('HTTP/1.1', `HTTP/${version}`);
          socket.receive(of(get('maps/m/k')));
          const [head = '', body = ''] = socket.text.split('\r\n\r\n');
          // A long value is written in pieces.
          const isPart = /^v+$/.test(body) && body.length <= length;
          assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
          assert.match(head, new RegExp(`\r\nContent-Length: ${length}`));
          assert.doesNotMatch(socket.text, /Content-Type|Set-Cookie|script/);
          assert.ok(isPart && (length > 5 || body.length === length), `${body.length} bytes`);
          assert.equal(warnings(), 1);
        }
      });
    }
  }

  it('is sent with all of its bytes', () => {
    const types = ['a/b;c="\xfe\x80"', 'a/b;c="\xff\xff\xff\xff\xff\xff\xff\xff"', 'a/b;c="\xff"'];
    for (const type of [...types, ...types]) {
      const { socket } = served(Buffer.from(type, 'latin1'));
      socket.receive(get('maps/m/k') + get('maps/m/k'));
      assert.equal(socket.text.split(`Content-Type: ${type}\r\n`).length, 3);
    }
  });

  it('is also omitted for a polled item, and between types that are sent', () => {
    const { socket, warnings, another, engine } = served(SPLIT);
    engine.set(span('m'), span('good'), span('v'), span('a/b;\tc="d"'), FOREVER, undefined, none);
    const third = another();
    for (const path of ['maps/m/good', 'maps/m/k', 'maps/m/good']) third.socket.receive(get(path));
    third.socket.receive(poll('q', 1));
    const types = third.responses().map(({ fields }) => fields.get('content-type'));
    assert.deepEqual(types, ['a/b;\tc="d"', undefined, 'a/b;\tc="d"', undefined]);
    assert.equal(warnings(), 2);
    socket.destroy();
  });
});
