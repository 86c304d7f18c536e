/**
 * Covers src/persistence/write-ahead-log.ts and src/persistence/storage.ts. A disk that is full or
 * fails: confirmed changes are retained, and uncertain data is not exposed.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { APPLIED, FOUND, REFUSED } from '../../src/engine/engine.ts';
import { DISK_ERROR, DISK_FAILED, DISK_FULL } from '../../src/engine/mutation-sink.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { contentOf } from './stored-model.ts';
import { openOnce, openPersistent, recoveredContent, until } from './subject.ts';

/** Step between the numbers of the calls that fail; the soak has a smaller one. */
const STEP = Number(process.env.SOAK_STEP ?? 41);
const LOG_ONLY = { snapshotBytesMin: Number.POSITIVE_INFINITY };
const VALUE = Buffer.alloc(200, 'v');
/** Number of keys to set, and a number of keys that fill a segment. */
const KEYS = 60;
const FEW_KEYS = 8;

describe('a disk with space', () => {
  it('accepts the writes of one turn, regardless of their number of segments and their length', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot');
    const { ask, engine, events, quiet } = await openPersistent(storage, LOG_ONLY);
    for (let count = 0; count < 3; count++) {
      assert.equal(ask.set('m', `long ${count}`, Buffer.alloc(20_000)).outcome, APPLIED);
      for (let key = 0; key < 200; key++) {
        assert.equal(ask.set('m', `key ${key}`, VALUE).outcome, APPLIED);
      }
    }
    await quiet();
    assert.deepEqual(events, []);
    assert.deepEqual(await recoveredContent(storage.afterKill()), contentOf(engine));
  });
});

describe('a full disk', () => {
  it('refuses a value longer than a segment only while there is no room for it', async () => {
    const long = Buffer.alloc(40_000);
    const storage = new MemoryStorage(new Random(1), 'boot', 60_000);
    const { ask, events, quiet, pass } = await openPersistent(storage, LOG_ONLY);
    await quiet();
    assert.equal(ask.set('m', 'long', long).veto, DISK_FULL);
    await quiet();
    assert.equal(ask.set('m', 'short', VALUE).outcome, APPLIED);
    await quiet();
    await pass(1000);
    assert.deepEqual(events, ['refusing', 'taking']);
    assert.equal(ask.set('m', 'long', long).veto, DISK_FULL);
    await quiet();
    storage.bytesMax = 1_000_000;
    await pass(1000);
    assert.equal(ask.set('m', 'long', long).outcome, APPLIED);
    await quiet();
    assert.deepEqual(events, ['refusing', 'taking', 'refusing', 'taking']);
  });

  it('refuses writes, accepts deletes and polls, and accepts all writes once there is space', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot', 60_000);
    const { ask, engine, events, quiet, pass } = await openPersistent(storage, LOG_ONLY);
    ask.offer('q', VALUE);
    let count = 0;
    for (; ask.set('m', `key ${count}`, VALUE).outcome === APPLIED; count++) await quiet();
    assert.equal(ask.set('m', 'more', VALUE).veto, DISK_FULL);
    await quiet();
    assert.deepEqual(events, ['refusing']);
    assert.ok(count > 100, `${count} entries`);
    assert.equal(ask.get('m', 'key 0').outcome, FOUND);
    for (let key = 0; key < 20; key++) assert.equal(ask.delete('m', `key ${key}`).outcome, APPLIED);
    assert.equal(ask.poll('q').outcome, FOUND);
    assert.equal(ask.set('m', 'more', VALUE).outcome, REFUSED);
    await quiet();
    storage.bytesMax = 1_000_000;
    await pass(1000);
    assert.deepEqual(events, ['refusing', 'taking']);
    assert.equal(ask.set('m', 'more', VALUE).outcome, APPLIED);
    await quiet();
    assert.deepEqual(await recoveredContent(storage.afterKill()), contentOf(engine));
  });

  it('accepts writes again when enough has been deleted, and loses nothing', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot', 80_000);
    const subject = await openPersistent(storage, LOG_ONLY);
    const { ask, engine, persistence, events, quiet, pass } = subject;
    for (let item = 0; item < 10; item++) ask.offer('q', VALUE);
    let count = 0;
    for (; ask.set('m', `key ${count}`, VALUE).outcome === APPLIED; count++) await quiet();
    for (let item = 0; item < 5; item++) assert.equal(ask.poll('q').outcome, FOUND);
    for (let key = 0; key < 60; key++) {
      assert.equal(ask.delete('m', `key ${key}`).outcome, APPLIED);
      await quiet();
    }
    await until(persistence.log.sync(), quiet);
    for (let second = 0; second < 12; second++) await pass(1000);
    assert.deepEqual(events, ['refusing', 'taking', 'compacted']);
    for (let key = 0; key < 20; key++) {
      assert.equal(ask.set('m', `new ${key}`, VALUE).outcome, APPLIED);
      await quiet();
    }
    assert.deepEqual(await recoveredContent(storage.afterKill(), LOG_ONLY), contentOf(engine));
  });

  it('does not prevent a start: the member serves reads, and writes once there is space', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot', 40_000);
    const { ask, engine, quiet } = await openPersistent(storage, LOG_ONLY);
    for (let key = 0; ask.set('m', `key ${key}`, VALUE).outcome === APPLIED; key++) await quiet();
    const wanted = contentOf(engine);
    const full = storage.afterKill();
    full.bytesMax = 0;
    const after = await openPersistent(full, LOG_ONLY);
    assert.deepEqual(contentOf(after.engine), wanted);
    assert.deepEqual(after.events, ['refusing']);
    assert.ok(after.persistence.log.refusesWrites);
    assert.equal(after.ask.delete('m', 'key 0').veto, DISK_FULL);
    await after.pass(5000);
    full.bytesMax = 100_000;
    await after.pass(1000);
    assert.deepEqual(after.events, ['refusing', 'taking']);
    assert.equal(after.ask.delete('m', 'key 0').outcome, APPLIED);
    await until(after.persistence.close(), after.quiet);
    assert.deepEqual(
      await recoveredContent(full.afterCrash('next'), LOG_ONLY),
      contentOf(after.engine),
    );
  });

  it('also refuses deletes when the space reserved for them is used up', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot', 40_000);
    const { ask, quiet } = await openPersistent(storage, LOG_ONLY);
    let count = 0;
    for (; ask.set('m', `key ${count}`, VALUE).outcome === APPLIED; count++) await quiet();
    let deleted = 0;
    for (; deleted < count; deleted++, await quiet()) {
      if (ask.delete('m', `key ${deleted}`).outcome !== APPLIED) break;
    }
    assert.ok(deleted > 50 && ask.delete('m', `key ${deleted}`).outcome !== FOUND);
  });
});

describe('each call to the storage', () => {
  for (const [code, isLasting] of [
    ['EIO', false],
    ['EIO', true],
    ['ENOSPC', true],
    ['EROFS', true],
  ] as const) {
    it(`that fails with ${code}${isLasting ? ' from then on' : ''} loses nothing that was confirmed`, async () => {
      const calls = await callsOf();
      for (let at = 0; at < calls; at += STEP) await round(at, code, isLasting);
    });
  }

  it('that fails once, for the first segments, leaves a readable log', async () => {
    const calls = await callsOf(FEW_KEYS);
    for (let at = 0; at < calls; at++) await round(at, 'EIO', false, FEW_KEYS);
  });

  /** Number of calls that the work makes after the start. */
  async function callsOf(keys = KEYS): Promise<number> {
    return (await work(undefined, 'EIO', false, keys)).calls;
  }

  async function round(at: number, code: string, isLasting: boolean, keys = KEYS): Promise<void> {
    const { memory, answered } = await work(at, code, isLasting, keys);
    const content = await recoveredContent(memory.afterCrash('next'), { segmentBytes: 1024 });
    const there = content.join('\n');
    for (const key of answered) assert.ok(there.includes(`m m/${key} =`), `${key}, call ${at}`);
  }

  /** Sets keys one after the other. `answered` contains the keys whose responses were sent. */
  async function work(at: number | undefined, code: string, isLasting: boolean, keys: number) {
    const storage = new MemoryStorage(new Random(7), 'boot');
    const options = { segmentBytes: 1024, snapshotBytesMin: 4096, sync: 'always' } as const;
    const { ask, engine, persistence, quiet } = await openOnce(storage, options);
    const before = storage.calls.length;
    if (at !== undefined) storage.failure = { at: before + at + 1, code, isLasting };
    const answered: string[] = [];
    for (let each = 0; each < keys; each++) {
      const key = `key ${each}`;
      const { outcome, partition, sequence, veto } = ask.set('m', key, Buffer.alloc(100));
      await quiet();
      if (outcome !== APPLIED) {
        assert.ok(veto === DISK_FULL || veto === DISK_FAILED || veto === DISK_ERROR);
      } else if (!engine.delays(partition, sequence) && !persistence.log.delaysAll) {
        answered.push(key);
      } else {
        const { failure, delaysAll } = persistence.log;
        assert.ok(
          failure !== undefined || delaysAll,
          'delayed although the disk neither failed nor is full',
        );
        assert.ok(failure !== undefined || code === 'ENOSPC', 'delayed by a disk that is not full');
      }
    }
    await until(persistence.close(), quiet).catch(() => {});
    await quiet();
    return { memory: storage, answered, calls: storage.calls.length - before };
  }
});
