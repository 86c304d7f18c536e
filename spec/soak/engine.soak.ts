/**
 * 100 * SOAK_SIZE random operations on the embedded engine, which are recorded and replayed into an
 * empty engine in another order of partitions; and SOAK_SIZE runs of the models of the index, maps,
 * queues, rings and takes. SOAK_SEED repeats a run.
 */
import { test } from 'node:test';
import { refillsAlike } from '../engine/embedded/refill.case.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const OPERATIONS = SIZE * 100;
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

test(`A replay of ${OPERATIONS} recorded operations restores the engine (seed ${SEED})`, (context) => {
  context.diagnostic(refillsAlike(OPERATIONS, SEED));
});

process.env.MODEL_RUNS = `${SIZE}`;
for (const model of ['hash-index', 'maps', 'queues', 'ring-buffer', 'takes']) {
  await import(`../engine/embedded/${model}.spec.ts`);
}
