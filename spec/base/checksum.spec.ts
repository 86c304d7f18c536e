/** The CRC-32, compared with its check value and with its definition, bit by bit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { checksum } from '../../src/base/checksum.ts';
import { viewed } from '../../src/base/copy-bytes.ts';

function bitByBit(bytes: Uint8Array): number {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 1) !== 0 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return ~sum;
}

test('checksum matches the check value of its catalogue', () => {
  assert.equal(checksum(viewed(Buffer.from('123456789')), 0, 9, 0), 0xcbf43926 | 0);
});

test('checksum is correct at every length, from any byte, in any parts', () => {
  const random = new Random(7);
  const bytes = Buffer.from(random.bytes(40_000));
  const from = viewed(bytes);
  for (const length of [...Array(70).keys(), 198, 199, 200, 201, 16_383, 37_000]) {
    const start = random.below(64);
    const end = start + length;
    assert.equal(checksum(from, start, end, 0), bitByBit(bytes.subarray(start, end)));
    const middle = start + random.below(length + 1);
    const parts = checksum(from, middle, end, checksum(from, start, middle, 0));
    assert.equal(parts, checksum(from, start, end, 0));
  }
});
