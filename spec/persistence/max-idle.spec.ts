/**
 * Covers src/persistence. Entries with a max idle, across a stop and across a crash of the process.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { ABSENT, FOUND } from '../../src/engine/engine.ts';
import { FakeClock } from '../fake-clock.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { openPersistent, until } from './subject.ts';

const START_MS = 1_700_000_000_000;
const VALUE = Buffer.from('value');

/**
 * Returns the storage of a member, stopped 50 s after its start, whose entries were written 50 s
 * and read 20 s before.
 */
async function ended(isStopped: boolean, startMs = START_MS): Promise<MemoryStorage> {
  const storage = new MemoryStorage(new Random(1), 'boot');
  const clock = new FakeClock(0, startMs);
  const { ask, persistence, quiet } = await openPersistent(storage, { clock });
  ask.set('m', 'idle', VALUE, '', { timeToLiveMs: 0, maxIdleSeconds: 60 });
  ask.set('m', 'both', VALUE, '', { timeToLiveMs: 90_000, maxIdleSeconds: 60 });
  clock.advance(30_000);
  assert.equal(ask.get('m', 'idle').outcome, FOUND);
  assert.equal(ask.get('m', 'both').outcome, FOUND);
  clock.advance(20_000);
  await quiet();
  if (!isStopped) return storage.afterKill();
  await until(persistence.close(), quiet);
  return storage;
}

/** Returns the state of the entries after a start `laterMs` after the end. */
async function found(
  storage: MemoryStorage,
  laterMs: number,
  startMs = START_MS,
): Promise<readonly number[]> {
  const clock = new FakeClock(0, startMs + 50_000 + laterMs);
  const { ask } = await openPersistent(storage, { clock });
  return [ask.get('m', 'idle').outcome, ask.get('m', 'both').outcome];
}

test('a max idle continues while a member is stopped', async () => {
  assert.deepEqual(await found(await ended(true), 30_000), [FOUND, FOUND]);
  assert.deepEqual(await found(await ended(true), 59_000), [FOUND, ABSENT]);
  assert.deepEqual(await found(await ended(true), 62_000), [ABSENT, ABSENT]);
});

test('a max idle continues beyond the seconds of 32 bits', async () => {
  // The seconds exceed 32 bits, at 2106-02-07 06:28:16, during the run, between it and the next
  // start, or before both.
  for (const beforeMs of [80_000, 40_000, 10_000, 0]) {
    const startMs = 2 ** 32 * 1000 - beforeMs;
    const at = async (laterMs: number) => found(await ended(true, startMs), laterMs, startMs);
    assert.deepEqual(await at(30_000), [FOUND, FOUND]);
    assert.deepEqual(await at(59_000), [FOUND, ABSENT]);
    assert.deepEqual(await at(62_000), [ABSENT, ABSENT]);
  }
});

test('a max idle restarts at the start after a crash', async () => {
  assert.deepEqual(await found(await ended(false), 30_000), [FOUND, FOUND]);
  assert.deepEqual(await found(await ended(false), 3_600_000), [FOUND, ABSENT]);
});

test('the time of a stop counts only for the next start', async () => {
  const storage = await ended(true);
  const clock = new FakeClock(0, START_MS + 60_000);
  const second = await openPersistent(storage, { clock });
  clock.advance(30_000);
  assert.equal(second.ask.get('m', 'idle').outcome, FOUND);
  assert.deepEqual(await found(storage.afterKill(), 100_000), [FOUND, ABSENT]);
});

test('a max idle is unchanged if the clock was set back while the member was stopped', async () => {
  assert.deepEqual(await found(await ended(true), -40_000), [FOUND, FOUND]);
});
