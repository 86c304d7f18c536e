import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { copyIntoWords, copyRange, copySpan, ViewedBytes } from '../../src/base/copy-bytes.ts';
import { Span } from '../../src/base/span.ts';

const MEMORY_BYTES = 600;
/** Length greater than that of any range copied by words, in bytes. */
const RANGE_BYTES_MAX = 260;
/** Byte that fills the target before the copy. */
const OLD = 0xdd;

const source = new ViewedBytes(MEMORY_BYTES);
for (let at = 0; at < MEMORY_BYTES; at++) source.bytes[at] = (at * 151) & 0xff;

const ranges = fc
  .tuple(fc.nat(MEMORY_BYTES), fc.nat(RANGE_BYTES_MAX))
  .map(([start, length]) => ({ start, end: Math.min(MEMORY_BYTES, start + length) }));

function expected(at: number, start: number, end: number): Buffer {
  const bytes = Buffer.alloc(MEMORY_BYTES + RANGE_BYTES_MAX, OLD);
  source.bytes.copy(bytes, at, start, end);
  return bytes;
}

test('copyRange copies any range to any offset, and changes no other byte', () => {
  fc.assert(
    fc.property(ranges, fc.nat(MEMORY_BYTES), ({ start, end }, at) => {
      const target = new ViewedBytes(MEMORY_BYTES + RANGE_BYTES_MAX);
      target.bytes.fill(OLD);
      copyRange(target, at, source.bytes, source.view, start, end);
      assert.deepEqual(target.bytes, expected(at, start, end));
    }),
  );
});

test('copySpan copies a span with words, with a view, and with neither', () => {
  const words = new Int32Array(source.bytes.buffer);
  fc.assert(
    fc.property(ranges, fc.nat(MEMORY_BYTES), ({ start, end }, at) => {
      const aligned = start & ~3;
      const withWords = new Span().set(source.bytes, aligned, end);
      withWords.words = words;
      const viewed = new Span().setViewed(source.bytes, source.view, start, end);
      for (const span of [withWords, viewed, new Span().set(source.bytes, start, end)]) {
        const target = new ViewedBytes(MEMORY_BYTES + RANGE_BYTES_MAX + 4);
        target.bytes.fill(OLD);
        copySpan(target, at, span);
        const wanted = expected(at, span.start, end);
        assert.deepEqual(target.bytes.subarray(0, wanted.length), wanted);
      }
    }),
  );
});

test('copyIntoWords pads the last word with zero bytes, and writes no further word', () => {
  fc.assert(
    fc.property(ranges, fc.nat(60), ({ start, end }, word) => {
      const target = new ViewedBytes(MEMORY_BYTES + RANGE_BYTES_MAX);
      target.bytes.fill(OLD);
      copyIntoWords(new Int32Array(target.bytes.buffer), word, source.view, start, end);
      const bytes = expected(word * 4, start, end);
      bytes.fill(0, word * 4 + end - start, word * 4 + ((end - start + 3) & ~3));
      assert.deepEqual(target.bytes, bytes);
    }),
  );
});

test('ViewedBytes spans its whole ArrayBuffer', () => {
  const bytes = Buffer.from('bytes');
  const copy = ViewedBytes.copyOf(bytes);
  bytes.fill(0);
  assert.equal(copy.bytes.toString(), 'bytes');
  assert.equal(copy.view.getUint8(4), 's'.charCodeAt(0));
  assert.equal(copy.length, 5);
});
