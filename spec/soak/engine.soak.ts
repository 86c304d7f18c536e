/**
 * 100 * SOAK_SIZE random operations on the embedded engine, in rounds, which are recorded and
 * replayed into an empty engine in another order of partitions; and SOAK_SIZE runs of the models of
 * the index, maps, queues and rings. SOAK_SEED repeats a run.
 */
import { test } from 'node:test';
import { strain } from '../engine/embedded/random-strain.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const STEPS = 1000;
const ROUNDS = Math.ceil((SIZE * 100) / STEPS);
const CHECK_STEPS = 100;
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

test(`a replay of ${STEPS} recorded operations restores the engine, ${ROUNDS} times (seeds from ${SEED})`, () => {
  for (let seed = SEED; seed < SEED + ROUNDS; seed++) strain(seed, STEPS, CHECK_STEPS);
});

process.env.MODEL_RUNS = `${SIZE}`;
for (const model of ['hash-index', 'maps', 'queues', 'ring-buffer']) {
  await import(`../engine/embedded/${model}.spec.ts`);
}
