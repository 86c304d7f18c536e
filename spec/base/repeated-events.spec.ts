import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RepeatedEvents } from '../../src/base/repeated-events.ts';
import { FakeClock } from '../fake-clock.ts';

const INTERVAL_MS = 10_000;

function counted(keysMax = 3) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const events = new RepeatedEvents<string>({
    clock,
    intervalMs: INTERVAL_MS,
    keysMax,
    report: (detail, count) => lines.push(`${clock.now()} ${detail} ${count}`),
  });
  return { clock, events, lines };
}

test('RepeatedEvents reports the first event at once, and the others once per interval', () => {
  const { clock, events, lines } = counted();
  for (const detail of ['one', 'two', 'three']) events.add('a', detail);
  assert.deepEqual(lines, ['0 one 1']);
  clock.advance(INTERVAL_MS);
  assert.deepEqual(lines, ['0 one 1', '10000 three 2']);
  events.add('a', 'four');
  clock.advance(INTERVAL_MS);
  assert.deepEqual(lines.slice(2), ['20000 four 1']);
});

test('RepeatedEvents drops a key after an interval without events, and then needs no timer', () => {
  const { clock, events, lines } = counted();
  events.add('a', 'one');
  clock.advance(INTERVAL_MS);
  assert.deepEqual([events.size, clock.timerCount], [0, 0]);
  events.add('a', 'two');
  assert.deepEqual(lines, ['0 one 1', '10000 two 1']);
});

test('RepeatedEvents has separate intervals for each key', () => {
  const { clock, events, lines } = counted();
  events.add('a', 'a');
  events.add('a', 'a');
  clock.advance(4000);
  events.add('b', 'b');
  events.add('b', 'b');
  clock.advance(6000);
  events.add('a', 'a');
  clock.advance(4000);
  clock.advance(6000);
  assert.deepEqual(lines, ['0 a 1', '4000 b 1', '10000 a 1', '14000 b 1', '20000 a 1']);
});

test('RepeatedEvents in a full table reports the oldest key early and loses no count', () => {
  const { events, lines } = counted(2);
  for (const key of ['a', 'a', 'b', 'c', 'd']) events.add(key, key);
  assert.equal(events.size, 2);
  assert.deepEqual(lines, ['0 a 1', '0 b 1', '0 a 1', '0 c 1', '0 d 1']);
});

test('RepeatedEvents reports the remaining events at its end', () => {
  const { clock, events, lines } = counted();
  for (const key of ['a', 'a', 'a', 'b', 'b']) events.add(key, key);
  events.end();
  assert.deepEqual(lines, ['0 a 1', '0 b 1', '0 a 2', '0 b 1']);
  assert.deepEqual([events.size, clock.timerCount], [0, 0]);
});
