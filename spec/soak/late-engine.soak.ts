/**
 * HTTP on an engine that replies late: SOAK_CASES random requests, and SOAK_SIZE rounds of queues
 * with clients that disconnect, in both modes. LATE_SEED repeats a run.
 */
import { it } from 'node:test';
import { compareResponses } from '../http/late-comparison.ts';
import { runQueueRounds } from '../http/late-queue-rounds.ts';
import { MODES } from '../http/late-server.ts';

const REQUESTS = Number(process.env.SOAK_CASES ?? 20_000);
const ROUNDS = Number(process.env.SOAK_SIZE ?? 500);
const SEED = Number(process.env.LATE_SEED ?? Date.now() % 1_000_000_000);

for (const [mode, isOrdered] of MODES) {
  it(`${REQUESTS} requests get the responses of the embedded engine, ${mode} (seed ${SEED})`, () =>
    compareResponses(SEED, REQUESTS, isOrdered));

  it(`${REQUESTS} requests get these responses if changes are synced first, ${mode} (seed ${SEED})`, () =>
    compareResponses(SEED, REQUESTS, isOrdered, true));

  it(`${ROUNDS} rounds of queues lose or duplicate no item, ${mode} (seeds from ${SEED})`, () =>
    runQueueRounds(SEED, ROUNDS, isOrdered));
}
