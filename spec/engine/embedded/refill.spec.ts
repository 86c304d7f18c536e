/** Replay of random work, in any order of partitions, results in the same maps and queues. */
import { test } from 'node:test';
import { refillsAlike } from './refill.case.ts';

const OPERATIONS = 6000;
const SEED = Number(process.env.SEED ?? 20_261);

test(`${OPERATIONS} operations recorded and replayed result in the same engine (seed ${SEED})`, (context) => {
  context.diagnostic(refillsAlike(OPERATIONS, SEED));
});
