/** Random work, recorded and replayed into an empty engine at the same time, in another order. */
import assert from 'node:assert/strict';
import { EmbeddedEngine } from '../../../src/engine/embedded/embedded-engine.ts';
import { APPLIED } from '../../../src/engine/engine.ts';
import { FROM_REPLAY, type Mutation } from '../../../src/engine/mutation.ts';
import { contentOf } from '../stored-engine.case.ts';
import { RandomWork, Shuffle } from './random-work.ts';

const PARTITIONS = 13;
const STEPS_BETWEEN = 1000;

/** Returns a line that describes the work done. */
export function refillsAlike(operations: number, seed: number): string {
  const shuffle = new Shuffle(seed, 3);
  let recorded = 0;
  const work = new RandomWork(seed, PARTITIONS, (mutation) => {
    recorded++;
    shuffle.add(mutation);
  });
  const copy = new EmbeddedEngine({
    partitionCount: PARTITIONS,
    clock: work.clock,
    queueCapacity: () => 1,
  });
  const replay = copy.replay();
  const give = (mutation: Mutation) => {
    mutation.origin = FROM_REPLAY;
    assert.equal(replay.apply(mutation), APPLIED);
  };
  for (let step = 1; step <= operations; step++) {
    work.step();
    if (step % STEPS_BETWEEN !== 0) continue;
    work.engine.invariants();
    shuffle.some(give);
    copy.invariants();
  }
  work.check();
  shuffle.rest(give);
  replay.end();
  copy.invariants();
  assert.deepEqual(copy.sequences(), work.engine.sequences());
  assert.deepEqual(contentOf(copy), contentOf(work.engine));
  return `${recorded} recorded, ${work.refusedCount} refused`;
}
