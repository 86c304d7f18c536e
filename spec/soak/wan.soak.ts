/**
 * The simulation of replication (spec/wan/simulation.ts) with SOAK_SIZE / 10 seeds of each shape, and
 * SOAK_CASES batches with wrong bytes.
 */
import { describe, it } from 'node:test';
import { EmbeddedModel } from '../wan/embedded-model.ts';
import { sendWrongBatches } from '../wan/messages.ts';
import { simulate } from '../wan/simulation.ts';

const SEEDS = Math.max(10, Number(process.env.SOAK_SIZE ?? 10_000) / 10);
const CASES = Number(process.env.SOAK_CASES ?? 100_000);

describe('WanReplications, many seeds', () => {
  for (const shape of ['pair', 'chain', 'ring', 'mesh'] as const) {
    it(`makes all members of a ${shape} equal, ${SEEDS} seeds`, async () => {
      for (let seed = 1; seed <= SEEDS; seed++) await simulate(shape, seed);
    });

    it(`makes all members of a ${shape} with embedded engines equal, ${SEEDS} seeds`, async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        await simulate(shape, seed, (clock) => new EmbeddedModel(clock));
      }
    });
  }
});

describe('WanReceiver.receive', () => {
  it(`applies nothing of ${CASES} batches with wrong bytes`, async () => {
    await sendWrongBatches(CASES, 3);
  });
});
