/** Runs the vectors of spec/vectors/http in one piece, split at every byte, and byte by byte. */
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createTestServer } from './test-server.ts';
import { readVectors, VECTORS } from './vector.ts';
import { runVector } from './vector-run.ts';

/** Number of places at which long requests are split, spread evenly. */
const SPLITS_MAX = 300;

for (const name of readdirSync(VECTORS).sort()) {
  describe(`vectors of ${name}`, () => {
    for (const vector of readVectors(new URL(name, VECTORS).pathname)) {
      it(vector.title, () => runVector(vector, createTestServer(), SPLITS_MAX));
    }
  });
}
