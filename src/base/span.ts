/**
 * A stretch of bytes named by buffer and offsets, without a view of its own. Spans are made once
 * and set again and again, so naming a key or a value allocates nothing. Whoever receives one reads
 * it during the call and copies what is to be kept: the next request sets it to something else.
 */
export class Span {
  bytes: Buffer = NOTHING;
  /** Offset of the first byte. */
  start = 0;
  /** Offset behind the last byte. */
  end = 0;
  /** The memory of `bytes` as 32-bit words, where `start` is the first byte of one; for fast copies. */
  words: Int32Array | undefined;

  /** Number of bytes. */
  get length(): number {
    return this.end - this.start;
  }

  set(bytes: Buffer, start: number, end: number): this {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.words = undefined;
    return this;
  }

  /** Names no bytes and lets go of the buffer. */
  clear(): this {
    return this.set(NOTHING, 0, 0);
  }

  /** Names what `other` names. */
  copyFrom(other: Span): this {
    this.set(other.bytes, other.start, other.end);
    this.words = other.words;
    return this;
  }

  /** A copy that outlives the turn; not for the hot path. */
  toBuffer(): Buffer {
    return Buffer.from(this.bytes.subarray(this.start, this.end));
  }
}

const NOTHING = Buffer.alloc(0);
