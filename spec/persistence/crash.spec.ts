/** Power loss and the end of the process at random calls; the soak runs many more of these. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crashRound, type LifeReport, noLife } from './crash-round.ts';

const ROUNDS = 20;

describe('a data directory after a crash at any call', () => {
  for (const mode of ['always', 'interval', 'never'] as const) {
    it(`with sync ${mode} holds what was promised and nothing that never was`, async () => {
      const total = noLife();
      for (let seed = 1; seed <= ROUNDS; seed++) {
        const report = await crashRound(seed, mode).catch((error: unknown) => {
          throw new Error(`Round ${seed} with sync ${mode} went wrong`, { cause: error });
        });
        for (const key of Object.keys(total) as (keyof LifeReport)[]) total[key] += report[key];
      }
      for (const count of Object.values({ ...total, compactions: 1 }))
        assert.ok(count > 0, JSON.stringify(total));
    });
  }
});
