/** Covers src/engine/merge-policy.ts and src/engine/embedded/merges.ts. */
import { it } from 'node:test';
import { runMergeRound, TOPOLOGIES } from './merge-round.ts';

const SEEDS = 2;

for (const topology of Object.keys(TOPOLOGIES)) {
  it(`data sets that merge as a ${topology} end equal, and so do their replays`, () => {
    for (let seed = 1; seed <= SEEDS; seed++) runMergeRound(topology, seed);
  });
}
