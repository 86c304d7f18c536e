/**
 * HTTP beyond the rounds of the specs: the vectors of spec/vectors/http split at every byte, and
 * SOAK_SIZE / 20 random clients of servers that drain. DRAIN_SEED repeats a run.
 */
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { checkDrain } from '../http/drain-round.ts';
import { createTestServer } from '../http/test-server.ts';
import { readVectors, VECTORS } from '../http/vector.ts';
import { runVector } from '../http/vector-run.ts';

const SPLITS_MAX = 2000;
const ROUNDS = Math.ceil(Number(process.env.SOAK_SIZE ?? 10_000) / 20);
const SEED = Number(process.env.DRAIN_SEED ?? Date.now() % 1_000_000_000);

for (const name of readdirSync(VECTORS).sort()) {
  test(`vectors of ${name}`, async () => {
    const server = createTestServer();
    const vectors = readVectors(new URL(name, VECTORS).pathname);
    for (const vector of vectors) await runVector(vector, server, SPLITS_MAX);
  });
}

test(`${ROUNDS} random clients of draining servers get their responses, seeds from ${SEED}`, () => {
  for (let round = 0; round < ROUNDS; round++) checkDrain(SEED + round);
});
