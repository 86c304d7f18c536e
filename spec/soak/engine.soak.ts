/**
 * 100 * SOAK_SIZE random operations on the embedded engine, which are recorded and replayed into an
 * empty engine in another order of partitions. SOAK_SEED repeats a run.
 */
import { test } from 'node:test';
import { refillsAlike } from '../engine/embedded/refill.case.ts';

const OPERATIONS = Number(process.env.SOAK_SIZE ?? 1000) * 100;
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

test(`A replay of ${OPERATIONS} recorded operations restores the engine (seed ${SEED})`, (context) => {
  context.diagnostic(refillsAlike(OPERATIONS, SEED));
});
