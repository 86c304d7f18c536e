/** Tombstones outlive restarts, snapshots and the compaction of a full disk. */
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
import { span } from '../engine/answers.ts';
import { MemoryStorage } from './memory-storage.ts';
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
    onAnswer: (answer) => {
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
    it(`are in ${where}, and outlive restarts`, async () => {
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
      for (let index = 0; index < 200; index++) {
        subject.ask.set('o', 'k', Buffer.alloc(100));
        await subject.quiet();
      }
      for (let restart = 0; restart < 3; restart++) {
        const content = contentOf(subject.engine);
        assert.equal(subject.told.includes('snapshot'), where === 'snapshots' && restart === 0);
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
});
