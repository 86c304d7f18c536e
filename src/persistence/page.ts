/**
 * Memory in which records are written and read: bytes that are also accessible as words and
 * doubles. Tested by record-codec.spec.ts.
 */
import assert from 'node:assert';
import { endianness } from 'node:os';
import { copyIntoWords, VIEWED_BYTES_MAX } from '../base/copy-bytes.ts';
import type { Span } from '../base/span.ts';
import type { SummedMemory } from './checksum.ts';

/**
 * Length from which a span is copied with a call, in bytes. Shorter spans are copied byte by byte,
 * which is faster (bench: short-copies).
 */
const COPY_LENGTH_MIN = 24;
/**
 * Length up to which a span is copied word by word, if its source has words, in bytes (bench:
 * short-copies).
 */
const COPY_WORDS_LENGTH_MAX = 256;

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
  const { bytes: source, words: sourceWords, view, start, end } = span;
  const next = at + wholeWords(end - start);
  if (next === at) return at;
  if (sourceWords !== undefined && end - start <= COPY_WORDS_LENGTH_MAX) {
    const shift = (start - at) >> 2;
    for (let to = at >> 2; to < next >> 2; to++) words[to] = sourceWords[to + shift]!;
    words[(next >> 2) - 1]! &= -1 >>> ((next - at - (end - start)) * 8);
    return next;
  }
  if (view !== undefined && end - start <= VIEWED_BYTES_MAX) {
    copyIntoWords(words, at >> 2, view, start, end);
    return next;
  }
  words[(next >> 2) - 1] = 0;
  if (end - start >= COPY_LENGTH_MIN) source.copy(bytes, at, start, end);
  else for (let from = start, to = at; from < end; from++, to++) bytes[to] = source[from]!;
  return next;
}

/** Rounds the offset up to a multiple of 4. */
export function wholeWords(offset: number): number {
  return (offset + 3) & ~3;
}
