import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { copyIntoWords, copySpan, copyWords, ViewedBytes } from '../../src/base/copy-bytes.ts';
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

/** Returns the bytes as spans: with words if they begin with one, with a view, and with neither. */
function spansOf(start: number, end: number): Span[] {
  const withWords = new Span().set(source.bytes, start & ~3, end);
  withWords.words = new Int32Array(source.bytes.buffer);
  const viewed = new Span().setViewed(source.bytes, source.view, start, end);
  return [withWords, viewed, new Span().set(source.bytes, start, end)];
}

test('copySpan copies a span with words, with a view, and with neither', () => {
  fc.assert(
    fc.property(ranges, fc.nat(MEMORY_BYTES), ({ start, end }, at) => {
      for (const span of spansOf(start, end)) {
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
      for (const span of spansOf(start, end)) {
        const { bytes } = new ViewedBytes(MEMORY_BYTES + RANGE_BYTES_MAX);
        bytes.fill(OLD);
        copyIntoWords(new Int32Array(bytes.buffer), bytes, word, span);
        const wanted = expected(word * 4, span.start, end);
        wanted.fill(0, word * 4 + span.length, word * 4 + ((span.length + 3) & ~3));
        assert.deepEqual(bytes, wanted);
      }
    }),
  );
});

test('copyWords copies any number of words', () => {
  const words = new Int32Array(source.bytes.buffer);
  for (const count of [0, 1, 47, 48, 49, 100]) {
    const target = new Int32Array(words.length);
    copyWords(target, 7, words, 3, count);
    const wanted = new Int32Array(words.length);
    wanted.set(words.subarray(3, 3 + count), 7);
    assert.deepEqual(target, wanted);
  }
});

test('ViewedBytes spans its whole ArrayBuffer', () => {
  const bytes = Buffer.from('bytes');
  const copy = ViewedBytes.copyOf(bytes);
  bytes.fill(0);
  assert.equal(copy.bytes.toString(), 'bytes');
  assert.equal(copy.view.getUint8(4), 's'.charCodeAt(0));
  assert.equal(copy.length, 5);
});
