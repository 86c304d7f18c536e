/**
 * CRC-32C, compared with the examples of RFC 3720, appendix B.4, and with its definition, bit by
 * bit.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { checksum, SummedMemory } from '../../src/persistence/checksum.ts';
import { Page } from '../../src/persistence/page.ts';

const EXAMPLES: readonly [bytes: readonly number[], sum: number][] = [
  [Array(32).fill(0), 0x8a9136aa],
  [Array(32).fill(0xff), 0x62a8ab43],
  [Array.from({ length: 32 }, (_, index) => index), 0x46dd794e],
  [Array.from({ length: 32 }, (_, index) => 31 - index), 0x113fdb5c],
];

function pageOf(bytes: Uint8Array, isKept: boolean): Page {
  const length = (bytes.length + 7) & ~7;
  const page = new Page(length, isKept ? new SummedMemory(length) : undefined);
  page.bytes.set(bytes);
  return page;
}

function bitByBit(bytes: Uint8Array): number {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 1) !== 0 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
  }
  return ~sum;
}

for (const isKept of [true, false]) {
  const where = isKept ? 'in its memory' : 'elsewhere';

  test(`checksum of bytes ${where} matches the examples of RFC 3720`, () => {
    for (const [bytes, sum] of EXAMPLES) {
      const page = pageOf(Uint8Array.from(bytes), isKept);
      assert.equal(checksum(page, 0, 8, 0) >>> 0, sum);
    }
  });

  test(`checksum of bytes ${where} is correct at every length, from any word, in any parts`, () => {
    const random = new Random(7);
    const bytes = random.bytes(150_000);
    const page = pageOf(bytes, isKept);
    const lengths = [...Array(70).keys(), 255, 256, 257, 16_383, 16_384, 16_385, 37_000];
    for (const length of lengths) {
      const start = random.below(16);
      const end = start + length;
      const sum = bitByBit(bytes.subarray(start * 4, end * 4));
      assert.equal(checksum(page, start, end, 0), sum);
      const middle = start + random.below(length + 1);
      assert.equal(checksum(page, middle, end, checksum(page, start, middle, 0)), sum);
    }
  });
}
