/**
 * Data sets that merge each other's changes become equal, and so does a replay of each. SOAK_SIZE
 * rounds of each topology. MERGE_SEED repeats a run.
 */
import { it } from 'node:test';
import { runMergeRound, TOPOLOGIES } from '../engine/merge-round.ts';

const ROUNDS = Number(process.env.SOAK_SIZE ?? 500);
const SEED = Number(process.env.MERGE_SEED ?? Date.now() % 1_000_000_000);

for (const topology of Object.keys(TOPOLOGIES)) {
  it(`${ROUNDS} rounds of a ${topology} make all data sets equal (seeds from ${SEED})`, () => {
    for (let seed = SEED; seed < SEED + ROUNDS; seed++) {
      try {
        runMergeRound(topology, seed);
      } catch (cause) {
        throw new Error(`seed ${seed}: ${(cause as Error).message}`, { cause });
      }
    }
  });
}
