import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { copyIntoWords, copyViewed, ViewedBytes } from '../../src/base/short-copies.ts';

const MEMORY_BYTES = 300;
/** What is in the target before. */
const OLD = 0xdd;

const source = new ViewedBytes(MEMORY_BYTES);
for (let at = 0; at < MEMORY_BYTES; at++) source.bytes[at] = (at * 151) & 0xff;

const ranges = fc
  .tuple(fc.nat(MEMORY_BYTES), fc.nat(140))
  .map(([start, length]) => ({ start, end: Math.min(MEMORY_BYTES, start + length) }));

function expected(at: number, start: number, end: number): Buffer {
  const bytes = Buffer.alloc(MEMORY_BYTES + 140, OLD);
  source.bytes.copy(bytes, at, start, end);
  return bytes;
}

test('copyViewed copies any range to any offset, and nothing beside it', () => {
  fc.assert(
    fc.property(ranges, fc.nat(MEMORY_BYTES), ({ start, end }, at) => {
      const target = new ViewedBytes(MEMORY_BYTES + 140);
      target.bytes.fill(OLD);
      copyViewed(target.view, at, source.view, start, end);
      assert.deepEqual(target.bytes, expected(at, start, end));
    }),
  );
});

test('copyIntoWords pads the last word with zero bytes, and writes nothing behind it', () => {
  fc.assert(
    fc.property(ranges, fc.nat(60), ({ start, end }, word) => {
      const target = new ViewedBytes(MEMORY_BYTES + 140);
      target.bytes.fill(OLD);
      copyIntoWords(new Int32Array(target.bytes.buffer), word, source.view, start, end);
      const bytes = expected(word * 4, start, end);
      bytes.fill(0, word * 4 + end - start, word * 4 + ((end - start + 3) & ~3));
      assert.deepEqual(target.bytes, bytes);
    }),
  );
});

test('ViewedBytes has memory of its own', () => {
  const bytes = Buffer.from('bytes');
  const copy = ViewedBytes.copyOf(bytes);
  bytes.fill(0);
  assert.equal(copy.bytes.toString(), 'bytes');
  assert.equal(copy.view.getUint8(4), 's'.charCodeAt(0));
  assert.equal(copy.length, 5);
});
