/**
 * Covers src/http. Runs the vectors of spec/vectors/http in one piece, split at some bytes, and
 * byte by byte.
 */
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createTestServer } from './test-server.ts';
import { readVectors, VECTORS } from './vector.ts';
import { runBytes, runVector } from './vector-run.ts';

/** Number of places at which a request is split, evenly spaced; `make soak` splits at every byte. */
const SPLITS_MAX = 5;

for (const name of readdirSync(VECTORS).sort()) {
  describe(`vectors of ${name}`, () => {
    const server = createTestServer();
    for (const [index, vector] of readVectors(new URL(name, VECTORS).pathname).entries()) {
      it(vector.title, async () => {
        await runVector(vector, server, SPLITS_MAX, 7 * index);
        await runBytes(vector, server);
      });
    }
  });
}
