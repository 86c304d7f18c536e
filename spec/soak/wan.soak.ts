/**
 * The simulation of replication (spec/wan/simulation.ts) with SOAK_SIZE / 10 seeds of each shape,
 * from SOAK_SEED on; the simulation of a source with persistence (spec/wan/persistent-simulation.ts) with
 * a tenth of these seeds in each sync mode; SOAK_CASES batches with wrong bytes; and 10 * SOAK_CASES
 * events with hostile content types, keys and names (1,000,000 by default).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendHostileEvents } from '../wan/hostile-events.ts';
import { sendWrongBatches } from '../wan/messages.ts';
import { type PersistentReport, persistentRound } from '../wan/persistent-simulation.ts';
import { type Shape, simulate } from '../wan/simulation.ts';

const SEEDS = Math.max(10, Number(process.env.SOAK_SIZE ?? 10_000) / 10);
const CASES = Number(process.env.SOAK_CASES ?? 100_000);
const FIRST_SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

async function simulateAll(shape: Shape): Promise<void> {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    await simulate(shape, seed).catch((error: unknown) => {
      throw new Error(`${shape}, seed ${seed}: ${(error as Error).message}`, { cause: error });
    });
  }
}

describe(`WanReplications, ${SEEDS} seeds from ${FIRST_SEED} on`, () => {
  for (const shape of ['pair', 'chain', 'ring', 'mesh'] as const) {
    it(`makes all members of a ${shape} equal`, async () => {
      await simulateAll(shape);
    });
  }
});

describe(`WanReplications with persistence, seeds from ${FIRST_SEED} on`, () => {
  for (const sync of ['always', 'interval', 'never'] as const) {
    it(`makes both sides equal with sync ${sync}, whenever the source ends`, async () => {
      const all: Partial<PersistentReport> = {};
      for (let seed = FIRST_SEED; seed < FIRST_SEED + Math.max(25, SEEDS / 10); seed++) {
        for (const [name, count] of Object.entries(await persistentRound(seed, sync))) {
          const key = name as keyof PersistentReport;
          all[key] = (all[key] ?? 0) + count;
        }
      }
      // Every event of interest occurs in some round.
      for (const [name, count] of Object.entries(all))
        assert.ok(count > 0, `${name} never occurred`);
    });
  }
});

describe('WanReceiver.receive', () => {
  it(`applies nothing of ${CASES} batches with wrong bytes, seed ${FIRST_SEED}`, async () => {
    await sendWrongBatches(CASES, FIRST_SEED);
  });

  it(`rejects those of ${CASES * 10} events that no client could have written`, async (context) => {
    const rejected = await sendHostileEvents(CASES * 10, FIRST_SEED);
    context.diagnostic(`${rejected} rejected`);
  });
});
