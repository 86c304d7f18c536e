/**
 * Covers src/wan and src/persistence. Waiting events survive any end of the source; `WAN_SEEDS` and
 * `make soak` run many seeds.
 */
import { describe, it } from 'node:test';
import { persistentRound } from './persistent-simulation.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 2);
const FIRST = Number(process.env.WAN_SEED ?? 1);

describe('WanReplications with persistence, whose source ends at random points', () => {
  for (const sync of ['always', 'interval', 'never'] as const) {
    it(`makes both sides equal with ${sync}, seeds from ${FIRST} on`, async () => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) await persistentRound(seed, sync);
    });
  }
});
