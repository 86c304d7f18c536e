/**
 * Backups in memory: each contains the state at one point in time, regardless of concurrent
 * changes, or does not exist.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import type { Mutation } from '../../src/engine/mutation.ts';
import { Backup, type BackupList } from '../../src/persistence/backup.ts';
import type { Persistence } from '../../src/persistence/persistence.ts';
import { restore } from '../../src/persistence/restore.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { changeAtRandom } from './random-changes.ts';
import { contentLeftBy, contentOf } from './stored-model.ts';
import { openPersistent, pumping, recoveredContent, rejectionCode, until } from './subject.ts';

const LIVES = Number(process.env.SOAK_SIZE ?? 150) / 50;
/** Step between the numbers of the calls that fail; the soak has a smaller one. */
const STEP = Number(process.env.SOAK_STEP ?? 13);

async function open(storage: MemoryStorage, seed: number) {
  const random = new Random(seed * 7919);
  const history: Mutation[] = [];
  const options = { segmentBytes: 2048, snapshotBytesMin: 8192, history };
  const subject = await openPersistent(storage, options);
  const change = (): void => changeAtRandom(subject.ask, random);
  /** Makes changes while the work is in progress. */
  const beside = async <Value>(work: Promise<Value>, ...others: Pumped[]): Promise<Value> =>
    await until(work, async () => {
      if (random.below(2) === 0) change();
      subject.clock.endTurn();
      if (random.below(4) === 0) subject.clock.advance(1000);
      for (const each of [storage, ...others])
        for (let n = random.below(5); n > 0; n--) each.pump();
      await new Promise((resolve) => setImmediate(resolve));
    });
  for (let count = 100 + random.below(200); count > 0; count--) {
    change();
    if (random.below(3) === 0) await subject.quiet();
  }
  return { ...subject, history, change, beside };
}

interface Pumped {
  pump(): boolean;
}

/** Returns the result of `see` at the time of the cut. */
function momentOf<Value>({ log }: Persistence, see: () => Value): { value: Value | undefined } {
  const seen: { value: Value | undefined } = { value: undefined };
  const cut = log.cut.bind(log);
  log.cut = () => {
    seen.value = see();
    return cut();
  };
  return seen;
}

describe('a backup', () => {
  it('contains the state at one point in time despite changes, and the source remains complete', async () => {
    let snapshots = 0;
    for (let seed = 1; seed <= LIVES; seed++) {
      const source = new MemoryStorage(new Random(seed));
      const target = new MemoryStorage(new Random(seed));
      const { persistence, engine, clock, history, beside, events, quiet } = await open(
        source,
        seed,
      );
      const moment = momentOf(persistence, () => history.length);
      const backing = persistence.retainFiles().then(async (cut) => {
        return await new Backup(source, target, cut, clock).write();
      });
      const before = events.length;
      await beside(backing, target);
      persistence.releaseFiles();
      snapshots += events.slice(before).filter((each) => each === 'snapshot').length;
      const restored = await recoveredContent(target);
      assert.deepEqual(restored, contentLeftBy(history.slice(0, moment.value)), `seed ${seed}`);
      await quiet();
      assert.deepEqual(
        await recoveredContent(source.afterKill()),
        contentOf(engine),
        `seed ${seed}`,
      );
    }
    assert.ok(snapshots > 0, 'no snapshot was written during the backups');
  });

  it('is complete although compaction frees space on a full disk meanwhile', async () => {
    const source = new MemoryStorage(new Random(1), 'boot', 60_000);
    const target = new MemoryStorage(new Random(1));
    const history: Mutation[] = [];
    const subject = await openPersistent(source, { history, snapshotBytesMin: 1e9 });
    const { persistence, ask, clock, events, pass } = subject;
    for (let key = 0; !events.includes('refusing'); key++) {
      ask.set('m', `key ${key}`, Buffer.alloc(200));
      await subject.quiet();
    }
    const moment = momentOf(persistence, () => history.length);
    let list: BackupList | undefined;
    void persistence.retainFiles().then(async (cut) => {
      list = await new Backup(source, target, cut, clock).write();
    });
    for (let key = 0; list === undefined; key++) {
      ask.delete('m', `key ${key}`);
      await pass(1000);
      target.pump();
      await new Promise((resolve) => setImmediate(resolve));
      assert.ok(!events.includes('compacted'), 'a compaction ran during the copy');
    }
    persistence.releaseFiles();
    for (let count = 0; count < 20; count++) await pass(5000);
    assert.ok(events.includes('compacted'));
    const restored = await recoveredContent(target);
    assert.deepEqual(restored, contentLeftBy(history.slice(0, moment.value)));
  });

  it('fails if a record of the source is damaged', async () => {
    const source = new MemoryStorage(new Random(1));
    const { persistence, clock, beside } = await open(source, 1);
    const cut = await beside(persistence.retainFiles());
    const name = `log-${String(cut.manifest.firstSegment).padStart(10, '0')}`;
    const bytes = source.bytes(name);
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    const target = new MemoryStorage(new Random(1));
    const writing = new Backup(source, target, cut, clock).write();
    await assert.rejects(beside(writing, target), { code: 'DATA_DAMAGED' });
  });
});

describe('a backup that is not completed', () => {
  it('is not accepted as complete, whichever call failed, and the member continues', async () => {
    const source = new MemoryStorage(new Random(1));
    const { persistence, engine, clock, beside } = await open(source, 5);
    const cut = await beside(persistence.retainFiles());
    const run = async (failAt: number, code: string) => {
      const memory = new MemoryStorage(new Random(1));
      memory.failure = { at: failAt, code, isLasting: true };
      const writing = new Backup(source, memory, cut, clock).write();
      const fault = await rejectionCode(beside(writing, memory));
      memory.failure = undefined;
      return { memory, fault, calls: memory.calls.length };
    };
    const { calls } = await run(Number.POSITIVE_INFINITY, '');
    for (let at = 1; at < calls; at += STEP) {
      const code = at % 2 === 0 ? 'ENOSPC' : 'EIO';
      const { memory, fault } = await run(at, code);
      assert.equal(fault, code, `call ${at}`);
      await assert.rejects(restored(memory), { code: 'BACKUP_NOT_WHOLE' }, `call ${at}`);
    }
    persistence.releaseFiles();
    assert.deepEqual(await recoveredContent(source.afterKill()), contentOf(engine));
  });

  it('does not exist if it was interrupted', async () => {
    const source = new MemoryStorage(new Random(1));
    const { persistence, clock, beside } = await open(source, 6);
    const cut = await beside(persistence.retainFiles());
    for (let pumps = 0, isWhole = false; !isWhole; pumps += STEP) {
      const target = new MemoryStorage(new Random(pumps + 1));
      const backup = new Backup(source, target, cut, clock);
      let count = 0;
      const pump = (): boolean => {
        if (count++ === pumps) backup.interrupt();
        return target.pump();
      };
      const fault = await rejectionCode(beside(backup.write(), { pump }));
      isWhole = fault === undefined;
      if (isWhole) assert.ok(pumps > 0);
      else {
        assert.equal(fault, 'BACKUP_INTERRUPTED');
        await assert.rejects(restored(target), { code: 'BACKUP_NOT_WHOLE' });
      }
    }
  });
});

describe('restore', () => {
  async function backedUp() {
    const source = new MemoryStorage(new Random(1));
    const { persistence, engine, clock, beside } = await open(source, 8);
    const target = new MemoryStorage(new Random(1));
    const content = momentOf(persistence, () => contentOf(engine));
    const backing = persistence.retainFiles().then(async (cut) => {
      await new Backup(source, target, cut, clock).write();
    });
    await beside(backing, target);
    return { backup: target, content: content.value };
  }

  it('refuses a backup in which any file is missing, changed or truncated', async () => {
    const { backup } = await backedUp();
    for (const name of await until(backup.list(), async () => backup.pump())) {
      const bytes = Buffer.from(backup.bytes(name));
      const flipped = Buffer.from(bytes);
      flipped[bytes.length >> 1] = (flipped[bytes.length >> 1] ?? 0) ^ 4;
      for (const other of [undefined, flipped, bytes.subarray(0, -1)]) {
        backup.put(name, other);
        await assert.rejects(restored(backup), { code: 'BACKUP_NOT_WHOLE' }, name);
      }
      backup.put(name, bytes);
    }
    await restored(backup);
  });

  it('refuses a directory that is not empty', async () => {
    const { backup } = await backedUp();
    const target = new MemoryStorage(new Random(1));
    target.put('a file', Buffer.from('?'));
    await assert.rejects(restored(backup, target), { code: 'DATA_DIRECTORY_NOT_EMPTY' });
    assert.equal(target.bytes('a file').toString(), '?');
  });

  it('that crashes at any call leaves nothing, all data, or a part that members refuse and a retry replaces', async () => {
    const { backup, content } = await backedUp();
    const seen = { nothing: 0, all: 0, refused: 0 };
    for (let at = 1, isDone = false; !isDone; at += STEP === 1 ? 1 : 5) {
      const target = new MemoryStorage(new Random(at));
      target.crashAt = at;
      isDone = await target.drive(restore(backup, target), () => backup.pump());
      target.crashAt = Number.POSITIVE_INFINITY;
      const after = isDone ? target : at % 2 === 0 ? target.afterCrash() : target.afterKill();
      const found = await recoveredContent(after).catch(
        (error: { readonly code: string }) => error.code,
      );
      if (found === 'DATA_NOT_WHOLE') {
        seen.refused++;
        await until(after.close(), async () => after.pump());
        await restored(backup, after);
        assert.deepEqual(await recoveredContent(after), content, `crash at ${at}`);
      } else if (found.length === 0) seen.nothing++;
      else {
        assert.deepEqual(found, content, `crash at ${at}`);
        seen.all++;
      }
    }
    assert.ok(seen.nothing > 0 && seen.all > 0 && seen.refused > 3, JSON.stringify(seen));
  });
});

async function restored(
  source: MemoryStorage,
  target = new MemoryStorage(new Random(1)),
): Promise<void> {
  await until(restore(source, target), pumping(source, target));
}
