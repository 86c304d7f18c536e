/**
 * SOAK_DAMAGES random damages to random files of stopped and killed members, seeded by SOAK_SEED.
 */
import { test } from 'node:test';
import { damageRound } from '../persistence/damage-round.ts';

const DAMAGES = Number(process.env.SOAK_DAMAGES ?? Number(process.env.SOAK_SIZE ?? 1000) / 20);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

test(`A member refuses ${DAMAGES} damaged directories or restores all acknowledged data (seed ${SEED})`, async () => {
  const counts = { refused: 0, started: 0 };
  for (let seed = SEED; seed < SEED + DAMAGES; seed++) counts[await damageRound(seed)]++;
  console.log(JSON.stringify(counts));
});
