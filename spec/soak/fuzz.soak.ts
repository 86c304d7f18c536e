/**
 * The fuzzer with SOAK_CASES random connections, in rounds with a seed each, counted up from
 * FUZZ_SEED, and a tenth as many in each mode of a late engine. A round that fails reports its
 * seed; spec/http/fuzz.spec.ts repeats it with that seed and FUZZ_CASES=20000. At the end, neither
 * the parser nor the heap may have grown with the cases.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { llhttp } from '../../src/http/llhttp.ts';
import { FuzzTarget, fuzzCase } from '../http/fuzz.ts';
import { MODES } from '../http/late-server.ts';

const CASES = Number(process.env.SOAK_CASES ?? 100_000);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000_000);
const ROUND_CASES = 20_000;
const ROUNDS = Math.ceil(CASES / ROUND_CASES);
/**
 * Maximum growth of the heap, in bytes: garbage of a round that is not yet collected, with a
 * margin.
 */
const HEAP_GROWTH_BYTES_MAX = 64 * 1024 * 1024;

test(`The server survives ${ROUNDS * ROUND_CASES} random connections, seeds ${SEED} to ${SEED + ROUNDS - 1}`, async () => {
  const target = new FuzzTarget();
  const property = fc.property(fuzzCase, (each) => target.check(each));
  let parserBytes = 0;
  let heapBytes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const seed = SEED + round;
    fc.assert(property, { numRuns: ROUND_CASES, seed });
    for (const [, isOrdered] of MODES) {
      const late = new FuzzTarget({ isOrdered, seed });
      const each = fc.property(fuzzCase, (found) => late.check(found));
      fc.assert(each, { numRuns: ROUND_CASES / 10, seed });
    }
    await nextTurn();
    if (round === 0) {
      parserBytes = llhttp().memory.byteLength;
      heapBytes = process.memoryUsage().heapUsed;
    }
  }
  assert.equal(llhttp().memory.byteLength, parserBytes, 'the memory of the parser has grown');
  const grownBytes = process.memoryUsage().heapUsed - heapBytes;
  assert(grownBytes < HEAP_GROWTH_BYTES_MAX, `the heap has grown by ${grownBytes} bytes`);
});
