/** SOAK_CASES rounds of queues behind engines that answer later; seeded by SOAK_SEED. */
import { test } from 'node:test';
import { lateQueueRounds } from '../engine/late-queue-round.ts';

const CASES = Number(process.env.SOAK_CASES ?? 100_000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

test(`each item once, nothing is left open: ${CASES} rounds from seed ${SEED}`, async () => {
  for (const isOrdered of [true, false]) {
    const report = await lateQueueRounds(SEED, CASES / 2, { isOrdered, turns: 'random' });
    console.log(JSON.stringify({ isOrdered, ...report }));
  }
});
