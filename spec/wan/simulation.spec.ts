/** Covers src/wan. Members converge, whatever the network does; `make soak` runs many seeds. */
import { describe, it } from 'node:test';
import { type Shape, simulate } from './simulation.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 2);
const FIRST = Number(process.env.WAN_SEED ?? 1);

describe('WanReplications over a network that loses, delays, duplicates and reorders', () => {
  for (const shape of ['pair', 'chain', 'ring', 'mesh'] as const satisfies readonly Shape[]) {
    it(`make all members of a ${shape} equal, seeds from ${FIRST} on`, async () => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) await simulate(shape, seed);
    });
  }
});
