/** Covers src/wan. The simulation with embedded engines; `make soak` runs many seeds. */
import { describe, it } from 'node:test';
import { EmbeddedModel } from './embedded-model.ts';
import { type Shape, simulate } from './simulation.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 2);
const FIRST = Number(process.env.WAN_SEED ?? 1);

describe('WanReplications of members with embedded engines', () => {
  for (const shape of ['pair', 'chain', 'ring', 'mesh'] as const satisfies readonly Shape[]) {
    it(`makes all members of a ${shape} equal, seeds from ${FIRST} on`, async () => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        await simulate(shape, seed, (clock) => new EmbeddedModel(clock));
      }
    });
  }
});
