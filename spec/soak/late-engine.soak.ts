/**
 * The HTTP engine on an engine that answers later: random requests, SOAK_CASES of them, and rounds of
 * queues with clients that leave, SOAK_SIZE of them, in both modes. LATE_SEED repeats a run.
 */
import { it } from 'node:test';
import { compareAnswers, compareSyncedAnswers } from '../http/late-comparison.ts';
import { runQueueRounds } from '../http/late-queue-rounds.ts';
import { MODES } from '../http/late-server.ts';

const REQUESTS = Number(process.env.SOAK_CASES ?? 20_000);
const ROUNDS = Number(process.env.SOAK_SIZE ?? 500);
const SEED = Number(process.env.LATE_SEED ?? Date.now() % 1_000_000_000);

for (const [mode, isOrdered] of MODES) {
  it(`${REQUESTS} requests have the answers of the embedded engine, ${mode} (seed ${SEED})`, () =>
    compareAnswers(SEED, REQUESTS, isOrdered));

  it(`so they have where all is synced before it is answered, ${mode} (seed ${SEED})`, () =>
    compareSyncedAnswers(SEED, REQUESTS, isOrdered));

  it(`${ROUNDS} rounds on queues lose and double nothing, ${mode} (seeds from ${SEED})`, () =>
    runQueueRounds(SEED, ROUNDS, isOrdered));
}
