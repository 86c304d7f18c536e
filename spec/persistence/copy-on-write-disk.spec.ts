/**
 * Covers src/persistence/write-ahead-log.ts. A disk that writes each block to a new location, as
 * btrfs does: a write to a segment that has been filled may find no space. That means that the disk
 * is full, not that it has failed.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { APPLIED, FOUND } from '../../src/engine/engine.ts';
import { DISK_FULL } from '../../src/engine/mutation-sink.ts';
import type { SyncMode } from '../../src/persistence/write-ahead-log.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { contentOf } from './stored-model.ts';
import { openPersistent, recoveredContent, until } from './subject.ts';

const VALUE = Buffer.alloc(100, 'v');

/** A member on such a disk, with a few entries. */
async function subject(sync: SyncMode) {
  const storage = new MemoryStorage(new Random(1), 'boot');
  const options = { sync, snapshotBytesMin: Number.POSITIVE_INFINITY };
  const opened = await openPersistent(storage, options);
  for (let key = 0; key < 3; key++) opened.ask.set('m', `${key}`, VALUE);
  await opened.quiet();
  return { storage, ...opened };
}

for (const sync of ['always', 'interval', 'never'] as const) {
  describe(`a write that finds no space, with sync ${sync}`, () => {
    it('uses that of a prepared segment or the reserve, and further writes are refused', async () => {
      const { storage, ask, engine, persistence, events, quiet, pass } = await subject(sync);
      storage.isFullForWrites = true;
      const { outcome, partition, sequence } = ask.set('m', 'k', VALUE);
      assert.equal(outcome, APPLIED);
      // The disk has room for one write as soon as a file is removed.
      storage.onRemoved = () => {
        storage.isFullForWrites = false;
      };
      await quiet();
      assert.equal(persistence.log.failure, undefined);
      assert.equal(engine.delays(partition, sequence), false);
      assert.equal(persistence.log.delaysAll, false);
      assert.ok(events.length === 0 || events[0] === 'refusing', events.join());
      for (let second = 0; second < 5; second++) await pass(1000);
      assert.equal(ask.set('m', 'more', VALUE).outcome, APPLIED);
      await quiet();
      assert.deepEqual(await recoveredContent(storage.afterKill()), contentOf(engine));
    });

    it('is confirmed once there is space, if nothing is left to remove', async () => {
      const { storage, ask, engine, persistence, events, quiet, pass } = await subject(sync);
      const synced = persistence.log.writtenEnd;
      storage.isFullForWrites = true;
      ask.set('m', 'k', VALUE);
      await quiet();
      assert.equal(persistence.log.failure, undefined);
      assert.ok(persistence.log.delaysAll, 'responses are not delayed');
      assert.equal(ask.set('m', 'more', VALUE).veto, DISK_FULL);
      assert.equal(ask.delete('m', '0').veto, DISK_FULL);
      assert.equal(ask.get('m', '0').outcome, FOUND);
      assert.equal(persistence.log.cut(), undefined);
      assert.deepEqual(persistence.log.writtenEnd, synced);
      await assert.rejects(until(persistence.log.sync(), quiet), { code: 'ENOSPC' });
      await pass(3000);
      assert.ok(persistence.log.delaysAll && events.includes('refusing'));
      storage.isFullForWrites = false;
      for (let second = 0; second < 5; second++) await pass(1000);
      assert.equal(persistence.log.delaysAll, false);
      assert.equal(events.at(-1), 'taking');
      assert.equal(ask.set('m', 'more', VALUE).outcome, APPLIED);
      await until(persistence.log.sync(), quiet);
      assert.deepEqual(await recoveredContent(storage.afterCrash('next')), contentOf(engine));
    });

    it('is the only loss at a kill, and at a stop, which fails', async () => {
      for (const isStopped of [false, true]) {
        const { storage, ask, engine, persistence, quiet } = await subject(sync);
        const wanted = contentOf(engine);
        storage.isFullForWrites = true;
        ask.set('m', 'k', VALUE);
        await quiet();
        if (isStopped) await assert.rejects(until(persistence.close(), quiet), { code: 'ENOSPC' });
        storage.isFullForWrites = false;
        assert.deepEqual(await recoveredContent(storage.afterKill()), wanted);
      }
    });
  });
}
