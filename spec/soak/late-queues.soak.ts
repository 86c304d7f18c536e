/** SOAK_CASES rounds of queues, and of maps, on engines that reply late; seeded by SOAK_SEED. */
import { test } from 'node:test';
import { lateMapRounds } from '../engine/late-map-round.ts';
import { lateQueueRounds } from '../engine/late-queue-round.ts';

const CASES = Number(process.env.SOAK_CASES ?? 100_000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

test(`Queues deliver each item once and leave no call open in ${CASES} rounds from seed ${SEED}`, async () => {
  for (const isOrdered of [true, false]) {
    const report = await lateQueueRounds(SEED, CASES / 2, { isOrdered, turns: 'random' });
    console.log(JSON.stringify({ isOrdered, ...report }));
  }
});

test(`Reads of maps see completed changes in ${CASES} rounds from seed ${SEED}`, () => {
  for (const isOrdered of [true, false])
    lateMapRounds(SEED, CASES / 2, { isOrdered, turns: 'random' });
});
