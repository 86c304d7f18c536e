/**
 * A key or name as 32-bit words: read once from its bytes, then hashed, compared and stored word by
 * word. The bytes after the last one, up to the end of its word, are zero. One object is reused for
 * every request and grows to the longest key it has read. Tested by hash.spec.ts.
 */
import { copyIntoWords, VIEWED_BYTES_MAX } from '../base/copy-bytes.ts';
import type { Span } from '../base/span.ts';

/**
 * Length in bytes up to which composing words is faster than making a view for `set` (bench:
 * cell-store).
 */
const COMPOSED_BYTES_MAX = 48;
const WORDS_MIN = 64;

export class KeyWords {
  words = new Int32Array(WORDS_MIN);
  /** Number of bytes. */
  length = 0;
  #bytes = Buffer.from(this.words.buffer);

  /** Number of words, including the padded one. */
  get wordCount(): number {
    return (this.length + 3) >>> 2;
  }

  load(span: Span): this {
    const { bytes, view, start, end } = span;
    const length = end - start;
    if (length >= this.#bytes.length) this.#grow(length);
    this.length = length;
    if (span.words !== undefined) this.#copyWords(span.words, start >>> 2);
    else if (view !== undefined && length <= VIEWED_BYTES_MAX) {
      copyIntoWords(this.words, 0, view, start, end);
    } else if (length <= COMPOSED_BYTES_MAX) composeWords(this.words, 0, bytes, start, length);
    else this.#copy(bytes, start, end);
    return this;
  }

  /** Loads the eight bytes of an integer from 0 to 2^53-1, low word first. */
  loadNumber(value: number): this {
    this.words[0] = value | 0;
    this.words[1] = Math.floor(value / 0x1_0000_0000);
    this.length = 8;
    return this;
  }

  /** Whether the key has the same bytes as the span. */
  is({ bytes, words: theirs, start, end }: Span): boolean {
    const { words, length } = this;
    if (end - start !== length) return false;
    if (theirs === undefined) {
      const mine = this.#bytes;
      for (let index = 0; index < length; index++) {
        if (mine[index] !== bytes[start + index]) return false;
      }
      return true;
    }
    const from = start >>> 2;
    const whole = length >>> 2;
    for (let index = 0; index < whole; index++) {
      if (words[index] !== theirs[from + index]) return false;
    }
    const rest = length & 3;
    return rest === 0 || (theirs[from + whole]! ^ words[whole]!) << (32 - rest * 8) === 0;
  }

  #copyWords(source: Int32Array, from: number): void {
    const { words, length, wordCount } = this;
    for (let index = 0; index < wordCount; index++) words[index] = source[from + index]!;
    const rest = length & 3;
    if (rest !== 0) words[wordCount - 1]! &= (1 << (rest * 8)) - 1;
  }

  #copy(bytes: Buffer, start: number, end: number): void {
    this.words[(end - start) >>> 2] = 0;
    this.#bytes.set(bytes.subarray(start, end), 0);
  }

  #grow(length: number): void {
    let count = this.words.length;
    // One more word than the bytes need: `#copy` clears the word after a whole number of words.
    while (count <= length >>> 2) count *= 2;
    this.words = new Int32Array(count);
    this.#bytes = Buffer.from(this.words.buffer);
  }
}

/** Writes `length` bytes into words from words[at]; the last word is padded with zero bytes. */
export function composeWords(
  words: Int32Array,
  at: number,
  bytes: Buffer,
  start: number,
  length: number,
): void {
  const whole = start + (length & ~3);
  let to = at;
  let from = start;
  for (; from < whole; from += 4) {
    words[to++] =
      bytes[from]! | (bytes[from + 1]! << 8) | (bytes[from + 2]! << 16) | (bytes[from + 3]! << 24);
  }
  const rest = length & 3;
  if (rest === 0) return;
  let word = bytes[from]!;
  if (rest > 1) word |= bytes[from + 1]! << 8;
  if (rest > 2) word |= bytes[from + 2]! << 16;
  words[to] = word;
}
