/**
 * A range of bytes: a buffer and two offsets, without a view of the range. Spans are created once
 * and set repeatedly, so passing a key or a value allocates nothing. A function that receives a
 * span reads it during the call and copies the bytes that it retains: the next request sets the
 * span to other bytes.
 */

/** Length up to which a loop over bytes compares faster than a call of `compare`, in bytes. */
const COMPARED_BYTES_MAX = 40;

export class Span {
  bytes: Buffer = NO_BYTES;
  /** Offset of the first byte. */
  start = 0;
  /** Offset after the last byte. */
  end = 0;
  /**
   * The memory of `bytes` as 32-bit words, for fast copies; set only if `start` is the first byte
   * of a word.
   */
  words: Int32Array | undefined;
  /**
   * A DataView of the memory of `bytes`, from its first byte on, for fast copies; undefined if none
   * is available.
   */
  view: DataView | undefined;

  /** Returns a span of all these bytes, or of a text in UTF-8. */
  static of(content: Buffer | string): Span {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    return new Span().set(bytes, 0, bytes.length);
  }

  /** Number of bytes. */
  get length(): number {
    return this.end - this.start;
  }

  set(bytes: Buffer, start: number, end: number): this {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.words = undefined;
    this.view = undefined;
    return this;
  }

  setViewed(bytes: Buffer, view: DataView | undefined, start: number, end: number): this {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.words = undefined;
    this.view = view;
    return this;
  }

  /** Empties the span and releases the buffer. */
  clear(): this {
    return this.set(NO_BYTES, 0, 0);
  }

  /** Sets this span to the bytes of `other`. */
  copyFrom(other: Span): this {
    this.set(other.bytes, other.start, other.end);
    this.words = other.words;
    this.view = other.view;
    return this;
  }

  /** Whether the span has exactly these bytes. */
  is(bytes: Buffer): boolean {
    const { length } = bytes;
    if (this.end - this.start !== length) return false;
    if (length > COMPARED_BYTES_MAX) return bytes.compare(this.bytes, this.start, this.end) === 0;
    for (let index = 0, from = this.start; index < length; ) {
      if (bytes[index++] !== this.bytes[from++]) return false;
    }
    return true;
  }

  /** Whether the span's first bytes are those of `prefix`. */
  beginsWith({ bytes, start, end }: Span): boolean {
    const length = end - start;
    const from = this.start;
    if (this.end - from < length) return false;
    if (length > COMPARED_BYTES_MAX) {
      return this.bytes.compare(bytes, start, end, from, from + length) === 0;
    }
    for (let index = 0; index < length; index++) {
      if (this.bytes[from + index] !== bytes[start + index]) return false;
    }
    return true;
  }

  /** Returns a copy that remains valid after the call; not for the hot path. */
  toBuffer(): Buffer {
    return Buffer.from(this.bytes.subarray(this.start, this.end));
  }
}

/** A buffer without bytes. */
export const NO_BYTES = Buffer.alloc(0);

/** A span without bytes, which is never set. */
export const NO_SPAN = new Span();
