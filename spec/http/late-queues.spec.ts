/**
 * Covers src/http/exchange.ts and src/rest/queue-poll.ts. A few rounds of queues with a late
 * engine; `make soak` has more.
 */
import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import { runQueueRounds } from './late-queue-rounds.ts';
import { MODES } from './late-server.ts';

const ROUNDS = 15;
const SEED = Number(process.env.LATE_SEED ?? randomInt(1_000_000_000));

/** Seeds of rounds that have failed before. */
const FOUND = [3517];

for (const [mode, isOrdered] of MODES) {
  it(`${ROUNDS} rounds on queues neither lose nor duplicate items, ${mode} (seeds from ${SEED})`, () =>
    runQueueRounds(SEED, ROUNDS, isOrdered));

  it(`rounds that have failed before pass, ${mode}`, async () => {
    for (const seed of FOUND) await runQueueRounds(seed, 1, isOrdered);
  });
}
