/**
 * The fuzzer for a long time: SOAK_CASES random connections, in rounds with a seed each, counted up from
 * FUZZ_SEED. A round that fails names its seed. It repeats with that seed and 20,000 cases or more in
 * spec/http/fuzz.spec.ts. At the end neither parser nor heap may have grown with the cases.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { llhttp } from '../../src/http/llhttp.ts';
import { FuzzTarget, fuzzCase } from '../http/fuzz.ts';

const CASES = Number(process.env.SOAK_CASES ?? 100_000);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000_000);
const ROUND_CASES = 20_000;
const ROUNDS = Math.ceil(CASES / ROUND_CASES);
/** Garbage of a round that is not yet collected, with a margin. */
const HEAP_GROWTH_BYTES_MAX = 64 * 1024 * 1024;

test(`${ROUNDS * ROUND_CASES} random connections, seeds ${SEED} to ${SEED + ROUNDS - 1}`, async () => {
  const target = new FuzzTarget();
  const property = fc.property(fuzzCase, (each) => target.check(each));
  let [parserBytes, heapBytes] = [0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    fc.assert(property, { numRuns: ROUND_CASES, seed: SEED + round });
    await nextTurn();
    if (round === 0) {
      parserBytes = llhttp().memory.byteLength;
      heapBytes = process.memoryUsage().heapUsed;
    }
  }
  assert.equal(llhttp().memory.byteLength, parserBytes, 'memory of the parser');
  const grownBytes = process.memoryUsage().heapUsed - heapBytes;
  assert(grownBytes < HEAP_GROWTH_BYTES_MAX, `the heap has grown by ${grownBytes} bytes`);
});
