import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MapLifetimes } from '../../src/data/map-lifetimes.ts';
import { FOREVER } from '../../src/engine/engine.ts';
import { span } from '../engine/results.ts';
import { client, get, post } from '../http/test-client.ts';

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

test('MapLifetimes never expires entries of the reserved map', () => {
  const seconds = new Map([['*', 5]]);
  const all = new Map([['', 7], ['default', 6], ...seconds]);
  for (const lifetimes of [
    LIFETIMES,
    new MapLifetimes(new Map([['default', 5]]), new Map()),
    new MapLifetimes(seconds, seconds),
    new MapLifetimes(all, all),
  ]) {
    assert.equal(lifetimes.of(span('')), FOREVER);
    assert.notEqual(lifetimes.of(span('session-1')), FOREVER);
    assert.equal(lifetimes.of(span('')), FOREVER);
  }
});

test('MapLifetimes returns correct lifetimes for more names than it caches', () => {
  for (let index = 0; index < 25_000; index++) {
    assert.equal(LIFETIMES.of(span(`session-${index}`)).timeToLiveMs, 10_000);
  }
});

test('an entry written over HTTP expires as configured for its map', () => {
  const { socket, statuses, clock } = client();
  const maps = ['two-seconds', 'two-idle', 'other'];
  for (const map of maps) socket.receive(post(`maps/${map}/k`, 'v'));
  for (const [ms, ...expected] of [
    [1999, 200, 200, 200],
    [1001, 204, 200, 200],
    [4000, 204, 204, 200],
  ] as const) {
    clock.advance(ms);
    for (const map of maps) socket.receive(get(`maps/${map}/k`));
    assert.deepEqual(statuses().slice(-3), expected, `after ${clock.now()} ms`);
  }
});
