/** What waits outlives every end of the source; `WAN_SEEDS` runs many seeds. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KeptReport, keptRound } from './kept-simulation.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 25);
const FIRST = Number(process.env.WAN_SEED ?? 1);

describe('WanReplications with persistence, whose source ends at random places', () => {
  for (const sync of ['always', 'interval', 'never'] as const) {
    it(`makes both sides equal with ${sync}, seeds from ${FIRST} on`, async () => {
      const all: Partial<KeptReport> = {};
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        for (const [name, count] of Object.entries(await keptRound(seed, sync))) {
          const key = name as keyof KeptReport;
          all[key] = (all[key] ?? 0) + count;
        }
      }
      // The rounds reach what they are for.
      if (SEEDS < 20) return;
      for (const [name, count] of Object.entries(all)) assert.ok(count > 0, `${name}: none`);
    });
  }
});
