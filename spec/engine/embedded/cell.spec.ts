/** The copy of a value into its cell. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Span } from '../../../src/base/span.ts';
import { HEADER_WORDS, writeValue } from '../../../src/engine/embedded/cell.ts';

const BYTES = Buffer.from(Uint8Array.from({ length: 800 }, (_, index) => index % 251).buffer);
const VIEW = new DataView(BYTES.buffer);
const WORDS = new Int32Array(BYTES.buffer);

it('writeValue copies a value of any length from any place, by words, by a view and by bytes', () => {
  const words = new Int32Array(200);
  const bytes = Buffer.from(words.buffer);
  const to = (1 + HEADER_WORDS) * 4;
  for (const length of [0, 1, 3, 4, 63, 64, 65, 128, 129, 255, 256, 257, 300]) {
    for (const start of [0, 4, 8, 44, 1, 2, 3, 45]) {
      const end = start + length;
      const expected = BYTES.subarray(start, end);
      const spans = [
        new Span().set(BYTES, start, end),
        new Span().setViewed(BYTES, VIEW, start, end),
      ];
      if (start % 4 === 0) {
        const aligned = new Span().set(BYTES, start, end);
        aligned.words = WORDS;
        spans.push(aligned);
      }
      for (const span of spans) {
        words.fill(0);
        writeValue(words, bytes, 1, span);
        assert.deepEqual(bytes.subarray(to, to + length), expected, `${start} to ${end}`);
      }
    }
  }
});
