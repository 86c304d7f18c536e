import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KeptSession } from '../../src/cp/kept-session.ts';
import { FakeClock } from '../fake-clock.ts';

/** A session of 30 s with a heartbeat that has the next result; undefined: it rejects. */
function kept(results: (boolean | undefined)[], sentBeforeMs = 0) {
  const clock = new FakeClock();
  let count = 0;
  const session = new KeptSession(clock, {
    id: 7,
    timeToLiveMs: 30_000,
    sentMs: clock.now() - sentBeforeMs,
    renew: async () => {
      count++;
      const result = results.shift();
      if (result === undefined) throw new Error('no response');
      return result;
    },
  });
  const pass = async (ms: number) => {
    clock.advance(ms);
    await nextTurn();
  };
  return { clock, session, pass, count: () => count };
}

test('KeptSession sends a heartbeat in each third of the time to live', async () => {
  const { session, pass, count, clock } = kept([true, true, true, true]);
  await pass(9_999);
  assert.equal(count(), 0);
  await pass(1);
  for (let times = 0; times < 3; times++) await pass(10_000);
  assert.equal(count(), 4);
  assert.equal(session.lost.aborted, false);
  session.stop();
  await pass(100_000);
  assert.deepEqual([count(), session.lost.aborted, clock.timerCount], [4, false, 0]);
});

test('KeptSession is lost at once if it has ended, and sends no more heartbeats', async () => {
  const { session, pass, count, clock } = kept([true, false]);
  await pass(10_000);
  await pass(10_000);
  assert.deepEqual([session.lost.aborted, session.hasEnded, count()], [true, true, 2]);
  assert.equal(clock.timerCount, 0);
});

test('KeptSession repeats a heartbeat that fails, and is lost shortly before its time is over', async () => {
  const { session, pass, count, clock } = kept([]);
  await pass(10_000);
  for (let times = 0; times < 7; times++) await pass(2000);
  assert.equal(count(), 8);
  await pass(999);
  assert.equal(session.lost.aborted, false);
  assert.equal(session.graceMs, 5000);
  await pass(1);
  assert.deepEqual([session.lost.aborted, session.hasEnded, clock.timerCount], [true, false, 0]);
});

test('KeptSession counts its time from when the request was sent', async () => {
  const { session, pass } = kept([], 20_000);
  await pass(4999);
  assert.equal(session.lost.aborted, false);
  await pass(1);
  assert.equal(session.lost.aborted, true);
  const late = kept([true], 40_000);
  await late.pass(0);
  assert.equal(late.session.lost.aborted, true);
});

test('KeptSession continues after failures once a heartbeat gets through', async () => {
  const { session, pass, count } = kept([undefined, undefined, true]);
  await pass(10_000);
  await pass(2000);
  await pass(2000);
  assert.equal(count(), 3);
  await pass(9_999);
  assert.deepEqual([count(), session.lost.aborted], [3, false]);
  session.stop();
});
