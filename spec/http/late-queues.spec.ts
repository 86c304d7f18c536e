/** A few rounds of queues on an engine that answers later; `make soak` has more. */
import { it } from 'node:test';
import { runQueueRounds } from './late-queue-rounds.ts';
import { MODES } from './late-server.ts';

const ROUNDS = 50;
const SEED = Number(process.env.LATE_SEED ?? Date.now() % 1_000_000_000);

for (const [mode, isOrdered] of MODES) {
  it(`${ROUNDS} rounds on queues lose and double nothing, ${mode} (seeds from ${SEED})`, () =>
    runQueueRounds(SEED, ROUNDS, isOrdered));
}
