/**
 * Covers src/persistence/log-takeover.ts and src/persistence/engine-recovery.ts. Starts in which a
 * call to the disk fails; the soak runs many more.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FaultReport, faultRound } from './start-faults.ts';

const SEEDS = 2;
const STEP = 9;

describe('a start in which a write, sync, rename or truncation fails', () => {
  for (const mode of ['always', 'interval', 'never'] as const) {
    it(`with sync ${mode} loses nothing that was confirmed, and the next start refuses nothing`, async () => {
      const total: FaultReport = { faults: 0, served: 0, written: 0 };
      for (let seed = 1; seed <= SEEDS; seed++) {
        const report = await faultRound(seed, mode, STEP);
        for (const key of Object.keys(total) as (keyof FaultReport)[]) total[key] += report[key];
      }
      const { faults, served, written } = total;
      assert.ok(faults > served && served > written && written > 0, JSON.stringify(total));
    });
  }
});
