/** Memory that records are written to and read from: bytes, also as words and doubles. */
import assert from 'node:assert';
import { endianness } from 'node:os';
import { copyIntoWords, VIEWED_BYTES_MAX } from '../base/short-copies.ts';
import type { Span } from '../base/span.ts';
import type { SummedMemory } from './checksum.ts';

/** Shorter spans are copied byte by byte, which is faster than a call (bench: short-copies). */
const COPY_LENGTH_MIN = 24;
/** Spans up to this length are copied word by word, where their source has words (bench: short-copies). */
const COPY_WORDS_LENGTH_MAX = 256;

assert.equal(endianness(), 'LE', 'records are read and written as words');

/** A buffer, also as words and doubles. Its length is a multiple of 8. */
export class Page {
  readonly bytes: Buffer;
  readonly words: Int32Array;
  readonly doubles: Float64Array;
  readonly memory: SummedMemory | undefined;

  /** A page that is used again and again has a memory, in which its bytes are summed in place. */
  constructor(length: number, memory?: SummedMemory) {
    this.memory = memory;
    const buffer = memory?.buffer ?? Buffer.allocUnsafeSlow(length).buffer;
    const start = memory?.start ?? 0;
    this.bytes = Buffer.from(buffer, start, length);
    this.words = new Int32Array(buffer, start, length >> 2);
    this.doubles = new Float64Array(buffer, start, length >> 3);
  }
}

/** Copies the span and fills it up to a whole word with zeros. Returns the offset behind it. */
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

/** The next multiple of 4. */
export function wholeWords(offset: number): number {
  return (offset + 3) & ~3;
}
