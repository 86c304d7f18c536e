/**
 * Covers src/http. Runs the fuzzer for a few cases, and those that it has found earlier. FUZZ_SEED
 * repeats a run; FUZZ_CASES=20000 repeats a round of `make soak`.
 */
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type FuzzCase, FuzzTarget, fuzzCase } from './fuzz.ts';
import { MODES } from './late-server.ts';
import { LIVE } from './test-client.ts';

const CASES = Number(process.env.FUZZ_CASES ?? 1000);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(1_000_000_000));
/** Number of cases for each mode of a late engine. */
const LATE_CASES = 100;
const EVERY_BYTE = [-1];

const CHUNKED = 'GET /grid/rest/maps/m/k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
const FOUND: Readonly<Record<string, FuzzCase>> = {
  'framing is counted by chunks, not by the received pieces': ended(
    `${CHUNKED}1;${'e'.repeat(80)}\r\nG\r\n2;${'e'.repeat(80)}\r\nGE\r\n1;${'e'.repeat(80)}\r\nG\r\n0\r\n\r\n`,
    EVERY_BYTE,
  ),
  'a close in a trailer does not discard the following requests': ended(
    `${CHUNKED}0\r\nConnection: close\r\n\r\n${CHUNKED}0\r\n\r\n`,
  ),
  'a raw byte after the end of a target': ended('GET /\r\xff HTTP/1.1\r\nHost: x\r\n\r\n'),
  'raw bytes in a target and after its end': ended('GET /\xff\r\xff HTTP/1.1\r\nHost: x\r\n\r\n'),
  'a single space before the target in a separate piece': ended(LIVE.repeat(3), EVERY_BYTE),
};

/** A client that ends its side after the text. */
function ended(text: string, cuts: readonly number[] = [0]): FuzzCase {
  return { text, cuts, end: 'end' };
}

describe('the HTTP engine', () => {
  for (const [title, found] of Object.entries(FOUND)) {
    it(`holds: ${title}`, () => new FuzzTarget().check(found));
  }

  it(`reads ${CASES} random connections of seed ${SEED} as the standard requires, split anywhere`, () => {
    const target = new FuzzTarget();
    const property = fc.property(fuzzCase, (each) => target.check(each));
    fc.assert(property, { numRuns: CASES, seed: SEED });
  });

  for (const [mode, isOrdered] of MODES) {
    it(`reads ${LATE_CASES} of seed ${SEED} as required with an engine whose results arrive later, ${mode}`, () => {
      const target = new FuzzTarget({ isOrdered, seed: SEED });
      for (const found of Object.values(FOUND)) target.check(found);
      const property = fc.property(fuzzCase, (each) => target.check(each));
      fc.assert(property, { numRuns: LATE_CASES, seed: SEED });
    });
  }
});
