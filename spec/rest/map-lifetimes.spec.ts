import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Span } from '../../src/base/span.ts';
import { FOREVER } from '../../src/engine/engine.ts';
import { MapLifetimes } from '../../src/rest/map-lifetimes.ts';
import { FakeSocket } from '../http/fake-socket.ts';
import { readResponses } from '../http/response-reader.ts';
import { createTestServer } from '../http/test-server.ts';

function span(text: string): Span {
  const bytes = Buffer.from(`..${text}..`);
  return new Span().set(bytes, 2, bytes.length - 2);
}

const LIFETIMES = new MapLifetimes(
  new Map([
    ['session*', 10],
    ['session-long', 0],
    ['default', 60],
  ]),
  new Map([['session-long', 5]]),
);

test('MapLifetimes never expires entries without configuration', () => {
  assert.equal(new MapLifetimes(new Map(), new Map()).of(span('m')), FOREVER);
  assert.equal(new MapLifetimes(new Map([['a', 1]]), new Map()).of(span('b')), FOREVER);
});

test('MapLifetimes uses the exact name, then a pattern, then default, at every call', () => {
  for (let time = 0; time < 2; time++) {
    const [long, some, other] = ['session-long', 'session-1', 'm'].map((name) =>
      LIFETIMES.of(span(name)),
    );
    assert.deepEqual(long, { timeToLiveMs: 0, maxIdleSeconds: 5 });
    assert.deepEqual(some, { timeToLiveMs: 10_000, maxIdleSeconds: 0 });
    assert.deepEqual(other, { timeToLiveMs: 60_000, maxIdleSeconds: 0 });
  }
  assert.equal(LIFETIMES.of(span('session-1')), LIFETIMES.of(span('session-1')));
});

test('MapLifetimes returns correct lifetimes for more names than it caches', () => {
  for (let index = 0; index < 25_000; index++) {
    assert.equal(LIFETIMES.of(span(`session-${index}`)).timeToLiveMs, 10_000);
  }
});

test('an entry written over HTTP expires as configured for its map', () => {
  const server = createTestServer();
  const ask = (method: string, path: string): number | undefined => {
    const socket = new FakeSocket();
    server.connect(socket);
    socket.receive(`${method} /grid/rest/maps/${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    return readResponses(socket.text)[0]?.status;
  };
  for (const map of ['two-seconds', 'two-idle', 'other']) ask('POST', `${map}/k`);
  server.clock.advance(1999);
  assert.equal(ask('GET', 'two-seconds/k'), 200);
  assert.equal(ask('GET', 'two-idle/k'), 200);
  server.clock.advance(1001);
  assert.equal(ask('GET', 'two-seconds/k'), 204);
  assert.equal(ask('GET', 'two-idle/k'), 200);
  server.clock.advance(4000);
  assert.equal(ask('GET', 'two-idle/k'), 204);
  assert.equal(ask('GET', 'other/k'), 200);
});
