import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EmbeddedEngine } from '../../../src/engine/embedded/embedded-engine.ts';
import { APPLIED, OUTDATED, type Outcome } from '../../../src/engine/engine.ts';
import { HIGHER_HITS, LATEST_UPDATE, type MergePolicy } from '../../../src/engine/merge-policy.ts';
import { FROM_SOURCE, Mutation, SET } from '../../../src/engine/mutation.ts';
import type { MergeOptions } from '../../../src/engine/stored-engine.ts';
import { Version } from '../../../src/engine/version.ts';
import { FakeClock } from '../../fake-clock.ts';
import { span } from '../answers.ts';
import { visited } from '../stored-engine.case.ts';
import { AtOnce } from './at-once.ts';

const VALUE = Buffer.from('v');

function opened(options: MergeOptions) {
  const clock = new FakeClock();
  const engine = new EmbeddedEngine({
    ...{ partitionCount: 5, clock, queueCapacity: () => Number.POSITIVE_INFINITY },
    ...options,
  });
  return { clock, engine, ask: new AtOnce(engine) };
}

function mergeSet(
  engine: EmbeddedEngine,
  key: string,
  version: Version,
  policy: MergePolicy,
  hits = 0,
): Outcome {
  const change = new Mutation();
  change.operation = SET;
  change.origin = FROM_SOURCE;
  change.name.copyFrom(span('m'));
  change.key.copyFrom(span(key));
  change.value.copyFrom(span('sent'));
  change.version.copyFrom(version);
  change.hits = hits;
  let outcome: Outcome = OUTDATED;
  engine.merge(change, policy, {
    onAnswer: (answer) => {
      outcome = answer.outcome;
    },
  });
  return outcome;
}

it('of more tombstones than allowed the oldest go, which is told', () => {
  const told: number[] = [];
  const { engine, ask, clock } = opened({
    keepsTombstones: () => true,
    tombstonesMax: 3,
    onTombstonesDropped: (count) => told.push(count),
  });
  const versions: Version[] = [];
  for (let index = 0; index < 5; index++) {
    versions.push(ask.set('m', `k${index}`, VALUE).version);
    ask.delete('m', `k${index}`);
    clock.advance(1);
  }
  assert.deepEqual([engine.tombstones.count, engine.tombstones.droppedCount], [3, 2]);
  assert.deepEqual(told, [1]);
  for (const [index, version] of versions.entries()) {
    const outcome = index < 2 ? APPLIED : OUTDATED;
    assert.equal(mergeSet(engine, `k${index}`, version, LATEST_UPDATE), outcome);
  }
  engine.invariants();
  engine.close();
});

it('a tombstone goes when it is too old, and its memory with it', () => {
  const { engine, ask, clock } = opened({
    keepsTombstones: () => true,
    tombstoneRetentionMs: 10_000,
  });
  for (let index = 0; index < 5000; index++) {
    ask.set('m', `k${index}`, VALUE);
    ask.delete('m', `k${index}`);
  }
  assert.equal(engine.tombstones.count, 5000);
  clock.advance(9000);
  assert.equal(engine.tombstones.count, 5000);
  clock.advance(4000);
  assert.deepEqual([engine.tombstones.count, engine.tombstones.droppedCount], [0, 0]);
  engine.invariants();
  engine.close();
});

it('only removals of maps that keep tombstones, or were merged into, leave some', () => {
  const { engine, ask } = opened({});
  const { version } = ask.set('m', 'k', VALUE);
  ask.delete('m', 'k');
  assert.equal(engine.tombstones.count, 0);
  assert.equal(mergeSet(engine, 'l', version, LATEST_UPDATE), APPLIED);
  ask.delete('m', 'l');
  ask.set('n', 'k', VALUE);
  ask.delete('n', 'k');
  assert.equal(engine.tombstones.count, 1);
  engine.close();
});

it('reads are counted over overwrites where the map keeps statistics, and decide HIGHER_HITS', () => {
  const { engine, ask } = opened({ keepsStatistics: (map) => map.toString() === 'm' });
  for (const map of ['m', 'n']) {
    ask.set(map, 'k', VALUE);
    for (let count = 0; count < 3; count++) ask.get(map, 'k');
    ask.set(map, 'k', VALUE);
    ask.get(map, 'absent');
    ask.get(map, 'k');
  }
  const hits = visited(engine).map(({ name, hits }) => [name.toBuffer().toString(), hits]);
  assert.deepEqual(hits.sort(), [
    ['m', 4],
    ['n', 0],
  ]);
  const old = new Version().set(1, 1);
  assert.equal(mergeSet(engine, 'k', old, HIGHER_HITS, 3), OUTDATED);
  assert.equal(mergeSet(engine, 'k', old, HIGHER_HITS, 4), APPLIED);
  engine.invariants();
  engine.close();
});
