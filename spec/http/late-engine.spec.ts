/**
 * Covers src/http/request.ts and src/surface. The HTTP server and the REST interface with a late
 * engine, ordered and not: their responses are the same bytes as with the embedded engine.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { compareResponses } from './late-comparison.ts';
import { runQueueRounds } from './late-queue-rounds.ts';
import { lateServer, MODES } from './late-server.ts';
import { readResponses } from './response-reader.ts';
import { get, LIVE, post, socketTo } from './test-client.ts';
import { readVectors, VECTORS } from './vector.ts';
import { runVector } from './vector-run.ts';

/** Number of places at which requests are split. */
const SPLITS_MAX = 1;
/** Number of random requests; `make soak` has more. */
const REQUESTS = 1000;
const SYNCED_REQUESTS = 300;
/** Number of rounds of queues; `make soak` has more. */
const ROUNDS = 15;
/** Seeds of rounds that have failed before. */
const FOUND = [3517];
const SEED = Number(process.env.LATE_SEED ?? randomInt(1_000_000_000));

for (const [mode, isOrdered] of MODES) {
  describe(`with a late engine, ${mode}`, () => {
    for (const name of readdirSync(VECTORS).sort()) {
      it(`the vectors of ${name} hold`, async () => {
        const server = lateServer({ isOrdered });
        for (const [index, vector] of readVectors(new URL(name, VECTORS).pathname).entries()) {
          await runVector(vector, server, SPLITS_MAX, 7 * index);
        }
      });
    }

    it('32 pipelined GETs take at most two turns more than a single one', () => {
      const turnsOf = (count: number): number => {
        const server = lateServer({ isOrdered, turns: 'next' });
        const socket = socketTo(server);
        socket.receive(get('maps/m/k').repeat(count));
        let turns = 0;
        for (; readResponses(socket.text).length < count; turns++) server.clock.endTurn();
        return turns;
      };
      assert(turnsOf(32) <= turnsOf(1) + 2, `${turnsOf(32)} turns, ${turnsOf(1)} for one`);
    });

    it('40 kB pipelined after an operation in progress cause no failure', () => {
      const server = lateServer({ isOrdered });
      const socket = socketTo(server);
      const count = Math.ceil(40_000 / LIVE.length);
      socket.receive(post('maps/m/k', 'v') + LIVE.repeat(count));
      server.clock.settle();
      assert.equal(readResponses(socket.text).length, count + 1);
    });

    it(`random requests get the responses of the embedded engine (seed ${SEED})`, () =>
      compareResponses(SEED, REQUESTS, isOrdered));

    it(`${ROUNDS} rounds on queues neither lose nor duplicate items (seeds from ${SEED})`, () =>
      runQueueRounds(SEED, ROUNDS, isOrdered));

    it('rounds that have failed before pass', async () => {
      for (const seed of FOUND) await runQueueRounds(seed, 1, isOrdered);
    });

    it(`random requests get the same responses with sync always (seed ${SEED})`, () =>
      compareResponses(SEED, SYNCED_REQUESTS, isOrdered, true));
  });
}
