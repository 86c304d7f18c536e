/**
 * SOAK_STARTS data directories in each sync mode, with one start for every SOAK_STEP-th call to the
 * disk, in which that call fails; the offset differs between directories. Seeded by SOAK_SEED.
 */
import { test } from 'node:test';
import { type FaultReport, faultRound } from '../persistence/start-faults.ts';

const STARTS = Number(process.env.SOAK_STARTS ?? Number(process.env.SOAK_SIZE ?? 1000) / 20);
const STEP = Number(process.env.SOAK_STEP ?? 15);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

for (const mode of ['always', 'interval', 'never'] as const) {
  test(`${STARTS} directories with sync ${mode} survive starts with disk faults (seed ${SEED})`, async () => {
    const total: FaultReport = { faults: 0, served: 0, written: 0 };
    for (let seed = SEED; seed < SEED + STARTS; seed++) {
      const report = await faultRound(seed, mode, STEP);
      for (const key of Object.keys(total) as (keyof FaultReport)[]) total[key] += report[key];
    }
    console.log(`${mode}: ${JSON.stringify(total)}`);
  });
}
