/**
 * Covers src/persistence. The log preserves the paths of changes through recovery, compaction,
 * backup, restore and repair.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { APPLIED } from '../../src/engine/engine.ts';
import { FROM_REPLAY, type Mutation } from '../../src/engine/mutation.ts';
import { Backup } from '../../src/persistence/backup.ts';
import { repair } from '../../src/persistence/repair.ts';
import { restore } from '../../src/persistence/restore.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { checkPaths, PathSink, pathOf } from './path-sink.ts';
import { changeAtRandom, overwrite } from './random-changes.ts';
import { contentOf } from './stored-model.ts';
import { maintenance, openPersistent, pumping, recoveredContent, until } from './subject.ts';

const LOG_ONLY = { segmentBytes: 4096, snapshotBytesMin: Number.POSITIVE_INFINITY };
const DISK_BYTES = 160_000;

/** Returns a directory with changes of every kind in its log. */
async function made() {
  const storage = new MemoryStorage(new Random(3), 'boot');
  const history: Mutation[] = [];
  const sinksBefore = [new PathSink()];
  const subject = await openPersistent(storage, { ...LOG_ONLY, sinksBefore, history });
  const random = new Random(4);
  for (let count = 0; count < 400; count++) {
    changeAtRandom(subject.ask, random);
    if (count % 5 === 0) await subject.quiet();
  }
  await until(subject.persistence.log.sync(), subject.quiet);
  return { storage, recorded: history, ...subject };
}

/** Returns the paths that a start on the storage passes to a sink, as strings with the versions. */
async function replayed(storage: MemoryStorage): Promise<string[]> {
  const history: Mutation[] = [];
  await recoveredContent(storage, { ...LOG_ONLY, history });
  return history.filter(({ origin }) => origin === FROM_REPLAY).map(shown);
}

function shown({ operation, version, path }: Mutation): string {
  return `${operation} ${version.high} ${version.low} ${path.toBuffer().toString('hex')}`;
}

describe('the paths of changes', () => {
  it('are in the log, and passed to the sinks during a replay', async () => {
    const { storage, recorded, persistence, quiet } = await made();
    await until(persistence.close(), quiet);
    assert.ok(checkPaths(storage.files) > 100);
    const expected = new Set(recorded.map(shown));
    const again = await replayed(storage.afterKill());
    assert.ok(again.length > 100);
    for (const each of again) assert.ok(expected.has(each), each);
  });

  it('are not passed for changes of clients after a replay', async () => {
    const { storage, persistence, quiet } = await made();
    await until(persistence.close(), quiet);
    const history: Mutation[] = [];
    const { ask } = await openPersistent(storage.afterKill(), { ...LOG_ONLY, history });
    const replayedCount = history.length;
    const random = new Random(5);
    for (let count = 0; count < 50; count++) changeAtRandom(ask, random);
    const own = history.slice(replayedCount);
    assert.ok(own.length > 20);
    for (const { path } of own) assert.equal(path.length, 0);
  });

  it('survive a compaction', async () => {
    const storage = new MemoryStorage(new Random(6), 'boot', DISK_BYTES);
    const sinksBefore = [new PathSink()];
    const { engine, ...subject } = await openPersistent(storage, { ...LOG_ONLY, sinksBefore });
    await overwrite(subject, () => !subject.events.includes('compacted'));
    assert.ok(checkPaths(storage.files) > 20);
    const copy = await recoveredContent(storage.afterKill(), LOG_ONLY);
    assert.deepEqual(copy, contentOf(engine));
  });

  it('are in a backup, in the data restored from it, and in repaired data', async () => {
    const { storage, persistence, clock, engine, quiet } = await made();
    const [backup, target, saved] = [8, 9, 10].map((seed) => new MemoryStorage(new Random(seed)));
    assert.ok(backup !== undefined && target !== undefined && saved !== undefined);
    const complete = pumping(storage, backup, target, saved);
    const pump = () => {
      clock.endTurn();
      return complete();
    };
    const backing = persistence
      .retainFiles()
      .then((cut) => new Backup(storage, backup, cut, clock).write());
    await until(backing, pump);
    persistence.releaseFiles();
    const count = checkPaths(backup.files);
    assert.ok(count > 100);
    await until(restore(backup, target), pump);
    assert.equal(checkPaths(target.files), count);
    const { damages } = await until(repair(maintenance({ source: target }), saved), pump);
    assert.equal(damages, 0);
    assert.equal(checkPaths(saved.files), count);
    await quiet();
    assert.deepEqual(await recoveredContent(saved, LOG_ONLY), contentOf(engine));
  });
});

describe('a change with a path that is applied to an engine that serves', () => {
  it('is recorded with it, and later changes of clients are not', async () => {
    const { recorded } = await made();
    const change = recorded.find(({ version }) => pathOf(version).length > 0) as Mutation;
    const history: Mutation[] = [];
    const { engine, ask } = await openPersistent(new MemoryStorage(new Random(1)), { history });
    const replay = engine.replay();
    change.origin = FROM_REPLAY;
    assert.equal(replay.apply(change), APPLIED);
    replay.end();
    ask.set('m', 'k', Buffer.from('v'));
    assert.deepEqual(
      history.map(({ path }) => path.length),
      [pathOf(change.version).length, 0],
    );
  });
});
