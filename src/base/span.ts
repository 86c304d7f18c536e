/**
 * A range of bytes, given by a buffer and offsets, without a view of its own. Spans are made once and
 * set again and again, so passing a key or a value allocates nothing. A function that receives a span
 * reads it during the call and copies the bytes that it keeps: the next request sets the span to other
 * bytes.
 */

/** Longer ranges are compared faster by a call than by a loop over bytes. */
const COMPARED_BYTES_MAX = 40;

export class Span {
  bytes: Buffer = NOTHING;
  /** Offset of the first byte. */
  start = 0;
  /** Offset after the last byte. */
  end = 0;
  /**
   * The memory of `bytes` as 32-bit words, set only where `start` is the first byte of a word; for fast
   * copies.
   */
  words: Int32Array | undefined;
  /** The memory of `bytes` from its first byte on, where it is at hand; for fast copies, too. */
  view: DataView | undefined;

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
    this.set(bytes, start, end);
    this.view = view;
    return this;
  }

  /** Empties the span and releases the buffer. */
  clear(): this {
    return this.set(NOTHING, 0, 0);
  }

  /** Sets this span to the bytes of `other`. */
  copyFrom(other: Span): this {
    this.set(other.bytes, other.start, other.end);
    this.words = other.words;
    this.view = other.view;
    return this;
  }

  /** Whether these are its bytes. */
  is(bytes: Buffer): boolean {
    const { length } = bytes;
    if (this.end - this.start !== length) return false;
    if (length > COMPARED_BYTES_MAX) return bytes.compare(this.bytes, this.start, this.end) === 0;
    for (let index = 0, from = this.start; index < length; ) {
      if (bytes[index++] !== this.bytes[from++]) return false;
    }
    return true;
  }

  /** A copy that outlives the turn; not for the hot path. */
  toBuffer(): Buffer {
    return Buffer.from(this.bytes.subarray(this.start, this.end));
  }
}

const NOTHING = Buffer.alloc(0);
