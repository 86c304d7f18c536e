/**
 * A text that is written again and again: it is stored as doubles and copied eight bytes at a time,
 * which saves 1 % of a pipelined GET beside a copy within the arena (bench: request-path). A copy of a
 * double may change the bytes of a NaN only, and every NaN has a byte 0x7f or 0xff.
 */
import type { Span } from '../base/span.ts';

const WORD_BYTES = 4;
const DOUBLE_BYTES = 8;

/** Whether the text has no characters but those of Latin-1 that no NaN has. */
export function isPreparable(text: string): boolean {
  return /^[^\x7f\xff-\uffff]*$/.test(text);
}

export class PreparedText {
  text = '';
  /** Length of the text, in bytes. */
  length = 0;
  #bytes = new Uint8Array();
  #words = new Int32Array();
  #doubles = new Float64Array();

  /** The text must be preparable. */
  set(text: string): void {
    const { length } = text;
    const bytes = Buffer.alloc(Math.ceil(length / DOUBLE_BYTES) * DOUBLE_BYTES);
    bytes.write(text, 'latin1');
    this.text = text;
    this.length = length;
    this.#bytes = Uint8Array.from(bytes);
    this.#words = new Int32Array(this.#bytes.buffer);
    this.#doubles = new Float64Array(this.#bytes.buffer);
  }

  /** Whether the span has exactly the bytes of the text. */
  is({ bytes, words, start, end }: Span): boolean {
    const { length } = this;
    if (end - start !== length) return false;
    const mine = this.#bytes;
    let index = 0;
    if (words !== undefined) {
      for (const last = length - WORD_BYTES; index <= last; index += WORD_BYTES) {
        if (words[(start + index) >> 2] !== this.#words[index >> 2]) return false;
      }
    }
    for (; index < length; index++) if (bytes[start + index] !== mine[index]) return false;
    return true;
  }

  /** Writes the text, and up to 7 further bytes. */
  copyTo(view: DataView, at: number): void {
    const doubles = this.#doubles;
    for (let index = 0, to = at; index < doubles.length; index++, to += DOUBLE_BYTES)
      view.setFloat64(to, doubles[index]!, true);
  }
}
