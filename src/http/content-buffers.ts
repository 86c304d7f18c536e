/**
 * Pool of buffers for bodies that are received in parts. V8 counts the bytes of new buffers and
 * collects its whole heap after some tens of MiB of them: with a new buffer for each, bodies of 64
 * KiB cost a third more (`make bench-peers NAME=post-64k`).
 *
 * Lengths are rounded up to a multiple of a quarter of a power of two, so that bodies of similar
 * length share buffers, which are less than a quarter longer. The spare buffers are limited. Short
 * and very long bodies get unpooled buffers of their exact length.
 */
const BYTES_MIN = 4096;
const BYTES_MAX = 1_048_576;
const SPARE_BYTES_MAX = 4_194_304;

export class ContentBuffers {
  /** Spare buffers by length. */
  readonly #spares = new Map<number, Buffer[]>();
  /** Bytes of all spare buffers. */
  #spareBytes = 0;

  /** Returns a buffer of at least `bytes`, with arbitrary content. */
  acquire(bytes: number): Buffer {
    if (bytes < BYTES_MIN || bytes > BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
    const length = roundedUp(bytes);
    const spare = this.#spares.get(length)?.pop();
    if (spare === undefined) return Buffer.allocUnsafeSlow(length);
    this.#spareBytes -= length;
    return spare;
  }

  /** Puts back a buffer that is no longer in use. */
  release(buffer: Buffer): void {
    const { length } = buffer;
    if (length < BYTES_MIN || length > BYTES_MAX) return;
    const spares = this.#spares.get(length) ?? [];
    // Spare buffers of other lengths were allocated for earlier bodies, or will soon be pooled
    // again.
    if (this.#spareBytes + length > SPARE_BYTES_MAX) {
      this.#spares.clear();
      this.#spareBytes = spares.length * length;
    }
    this.#spares.set(length, spares);
    if (this.#spareBytes + length > SPARE_BYTES_MAX) return;
    spares.push(buffer);
    this.#spareBytes += length;
  }
}

/** Rounds up to a multiple of a quarter of the largest power of two that is not greater. */
function roundedUp(bytes: number): number {
  const step = 2 ** (29 - Math.clz32(bytes));
  return Math.ceil(bytes / step) * step;
}
