/**
 * The simulation of replication (spec/wan/simulation.spec.ts) with SOAK_SIZE / 10 seeds of each
 * shape, from SOAK_SEED on; the simulation of a source with persistence
 * (spec/wan/persistent-simulation.spec.ts) with a tenth of these seeds in each sync mode;
 * SOAK_CASES batches with wrong bytes; and 10 * SOAK_CASES events with hostile content types, keys
 * and names (1,000,000 by default).
 */
import { describe, it } from 'node:test';
import { sendHostileEvents } from '../wan/hostile-events.ts';
import { sendWrongBatches } from '../wan/messages.ts';

const SEEDS = Math.max(10, Number(process.env.SOAK_SIZE ?? 10_000) / 10);
const CASES = Number(process.env.SOAK_CASES ?? 100_000);
const FIRST_SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

process.env.WAN_SEED = String(FIRST_SEED);
process.env.WAN_SEEDS = String(SEEDS);
await import('../wan/simulation.spec.ts');
process.env.WAN_SEEDS = String(Math.max(25, SEEDS / 10));
await import('../wan/persistent-simulation.spec.ts');

describe('WanReceiver.receive', () => {
  it(`applies nothing of ${CASES} batches with wrong bytes, seed ${FIRST_SEED}`, async () => {
    await sendWrongBatches(CASES, FIRST_SEED);
  });

  it(`rejects those of ${CASES * 10} events that no client could have written`, async (context) => {
    const rejected = await sendHostileEvents(CASES * 10, FIRST_SEED);
    context.diagnostic(`${rejected} rejected`);
  });
});
