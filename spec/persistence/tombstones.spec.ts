/**
 * Covers src/persistence/compaction.ts and src/persistence/record-codec.ts. Tombstones
 * survive restarts, snapshots and the compaction of a full disk.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { APPLIED, OUTDATED, type Outcome } from '../../src/engine/engine.ts';
import { LATEST_UPDATE } from '../../src/engine/merge-policy.ts';
import {
  CLEAR,
  DELETE,
  FROM_SOURCE,
  Mutation,
  type Operation,
  SET,
} from '../../src/engine/mutation.ts';
import type { StoredEngine } from '../../src/engine/stored-engine.ts';
import { span } from '../engine/results.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { type Files, visitMutations } from './damaged-directory.ts';
import { overwrite } from './random-changes.ts';
import { contentOf } from './stored-model.ts';
import { openPersistent, until } from './subject.ts';

const PATH = Buffer.alloc(16, 7);
const BASE_HIGH = Math.floor(1_600_000_000_000 / 2 ** 16);

function merge(
  engine: StoredEngine,
  operation: Operation,
  map: string,
  key: string,
  counter: number,
): Outcome {
  const change = new Mutation();
  change.operation = operation;
  change.origin = FROM_SOURCE;
  change.name.copyFrom(span(map));
  change.key.copyFrom(span(key));
  if (operation === SET) change.value.copyFrom(span(`value ${counter}`));
  change.version.set(counter, BASE_HIGH);
  change.path.set(PATH, 0, PATH.length);
  let outcome: Outcome = OUTDATED;
  engine.merge(change, LATEST_UPDATE, {
    onResult: (answer) => {
      outcome = answer.outcome;
    },
  });
  return outcome;
}

describe('tombstones', () => {
  for (const [where, snapshotBytesMin] of [
    ['the log', Number.POSITIVE_INFINITY],
    ['snapshots', 4096],
  ] as const) {
    it(`are in ${where}, and survive restarts`, async () => {
      const storage = new MemoryStorage(new Random(1), 'boot');
      const options = { segmentBytes: 2048, snapshotBytesMin };
      let subject = await openPersistent(storage, options);
      for (let index = 0; index < 40; index++) {
        assert.equal(merge(subject.engine, SET, 'm', `k${index}`, 2 * index + 1), APPLIED);
        assert.equal(merge(subject.engine, DELETE, 'm', `k${index}`, 1000), APPLIED);
        await subject.quiet();
      }
      assert.equal(merge(subject.engine, DELETE, 'm', 'absent', 1000), APPLIED);
      assert.equal(merge(subject.engine, SET, 'n', 'k', 500), APPLIED);
      assert.equal(merge(subject.engine, CLEAR, 'n', '', 1000), APPLIED);
      assert.equal(merge(subject.engine, SET, 'n', 'k', 1001), APPLIED);
      for (let index = 0; index < 220; index++) {
        subject.ask.set('o', 'k', Buffer.alloc(100));
        await subject.quiet();
      }
      for (let restart = 0; restart < 3; restart++) {
        const content = contentOf(subject.engine);
        assert.equal(subject.events.includes('snapshot'), where === 'snapshots' && restart === 0);
        await until(subject.persistence.close(), subject.quiet);
        subject = await openPersistent(storage, options);
        assert.deepEqual(contentOf(subject.engine), content);
        assert.equal(subject.engine.tombstones.count, 42);
        for (let index = 0; index < 40; index++) {
          assert.equal(merge(subject.engine, SET, 'm', `k${index}`, 999), OUTDATED);
        }
        assert.equal(merge(subject.engine, SET, 'm', 'absent', 1000), OUTDATED);
        assert.equal(merge(subject.engine, SET, 'n', 'l', 1000), OUTDATED);
      }
      assert.equal(merge(subject.engine, SET, 'm', 'k0', 1001), APPLIED);
      await until(subject.persistence.close(), subject.quiet);
    });
  }

  it('are preserved by a compaction, which drops the removals without tombstones', async () => {
    const storage = new MemoryStorage(new Random(6), 'boot', 160_000);
    const options = { segmentBytes: 4096, snapshotBytesMin: Number.POSITIVE_INFINITY };
    const subject = await openPersistent(storage, options);
    const { engine, ask, events, quiet } = subject;
    for (let index = 0; index < 40; index++) {
      assert.equal(merge(engine, SET, 'm', `k${index}`, 2 * index + 1), APPLIED);
      assert.equal(merge(engine, DELETE, 'm', `k${index}`, 1000), APPLIED);
      ask.set('o', `gone ${index}`, Buffer.alloc(10));
      ask.delete('o', `gone ${index}`);
      await quiet();
    }
    assert.equal(merge(engine, SET, 'n', 'k', 500), APPLIED);
    assert.equal(merge(engine, CLEAR, 'n', '', 1000), APPLIED);
    const compacted = () => events.filter((each) => each === 'compacted').length;
    await overwrite(subject, () => compacted() < 20);
    assert.deepEqual(removalsIn(storage.files), { m: 40, n: 1, o: 0 });
    const copy = await openPersistent(storage.afterKill(), options);
    assert.deepEqual(contentOf(copy.engine), contentOf(engine));
    assert.equal(copy.engine.tombstones.count, 41);
    for (let index = 0; index < 40; index++) {
      assert.equal(merge(copy.engine, SET, 'm', `k${index}`, 999), OUTDATED);
    }
    assert.equal(merge(copy.engine, SET, 'n', 'k', 1000), OUTDATED);
  });

  it('are left by maps into which changes were merged, even after a restart from a snapshot', async () => {
    const storage = new MemoryStorage(new Random(1), 'boot');
    const options = { segmentBytes: 2048, snapshotBytesMin: 4096 };
    let subject = await openPersistent(storage, options);
    assert.equal(merge(subject.engine, SET, 'm', 'k', 1), APPLIED);
    for (let count = 0; count < 200 || !subject.events.includes('snapshot'); count++) {
      assert.ok(count < 1000);
      subject.ask.set('o', 'k', Buffer.alloc(100));
      await subject.quiet();
    }
    for (let restart = 1; restart <= 2; restart++) {
      await until(subject.persistence.close(), subject.quiet);
      subject = await openPersistent(storage, options);
      subject.ask.set('m', `l${restart}`, Buffer.alloc(1));
      subject.ask.delete('m', `l${restart}`);
      subject.ask.set('o', 'l', Buffer.alloc(1));
      subject.ask.delete('o', 'l');
      assert.equal(subject.engine.tombstones.count, restart);
    }
    subject.ask.delete('m', 'k');
    assert.equal(merge(subject.engine, SET, 'm', 'k', 1), OUTDATED);
    await until(subject.persistence.close(), subject.quiet);
  });
});

/** Counts the DELETE and CLEAR records of each map in the files. */
function removalsIn(files: Files): Record<string, number> {
  const found: Record<string, number> = { m: 0, n: 0, o: 0 };
  visitMutations(files, ({ operation, name }) => {
    const isRemoval = operation === DELETE || operation === CLEAR;
    if (isRemoval) found[name.toBuffer().toString()]!++;
  });
  return found;
}
