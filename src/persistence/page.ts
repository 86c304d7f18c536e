/**
 * Memory in which records are written and read: bytes that are also accessible as words and
 * doubles. Tested by record-codec.spec.ts.
 */
import assert from 'node:assert';
import { endianness } from 'node:os';
import { copyIntoWords } from '../base/copy-bytes.ts';
import type { Span } from '../base/span.ts';
import type { SummedMemory } from './checksum.ts';

assert.equal(endianness(), 'LE', 'records are accessed as little-endian words');

/** A buffer that is also accessible as words and doubles. Its length is a multiple of 8. */
export class Page {
  readonly bytes: Buffer;
  readonly words: Int32Array;
  readonly doubles: Float64Array;
  readonly memory: SummedMemory | undefined;

  /**
   * Creates a page. With `memory`, for pages that are reused, its bytes are checksummed in place.
   */
  constructor(length: number, memory?: SummedMemory) {
    this.memory = memory;
    const buffer = memory?.buffer ?? Buffer.allocUnsafeSlow(length).buffer;
    const start = memory?.start ?? 0;
    this.bytes = Buffer.from(buffer, start, length);
    this.words = new Int32Array(buffer, start, length >> 2);
    this.doubles = new Float64Array(buffer, start, length >> 3);
  }
}

/** Copies the span and pads it with zeros to a whole word. Returns the offset after it. */
export function copyPadded({ bytes, words }: Page, at: number, span: Span): number {
  copyIntoWords(words, bytes, at >> 2, span);
  return at + wholeWords(span.end - span.start);
}

/** Rounds the offset up to a multiple of 4. */
export function wholeWords(offset: number): number {
  return (offset + 3) & ~3;
}
