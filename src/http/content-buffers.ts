/**
 * Buffers for contents that arrive in parts, for reuse. V8 counts the bytes of new buffers and collects
 * its whole heap after some tens of MiB of them, so with a new buffer for each content those of 64 KiB
 * cost a third more (`make bench-peers NAME=post-64k`).
 *
 * Lengths are in steps of a quarter of a power of two. So contents of about the same length share their
 * buffers, which are longer than these by less than a quarter. The spare buffers are bounded; short and
 * very long contents have buffers of their own length.
 */
const BYTES_MIN = 4096;
const BYTES_MAX = 1_048_576;
const SPARE_BYTES_MAX = 4_194_304;

export class ContentBuffers {
  /** Spare buffers by length. */
  readonly #spares = new Map<number, Buffer[]>();
  /** Bytes of all spare buffers. */
  #spareBytes = 0;

  /** A buffer of at least so many bytes, with arbitrary content. */
  take(bytes: number): Buffer {
    if (bytes < BYTES_MIN || bytes > BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
    const length = steppedUp(bytes);
    const spare = this.#spares.get(length)?.pop();
    if (spare === undefined) return Buffer.allocUnsafeSlow(length);
    this.#spareBytes -= length;
    return spare;
  }

  /** Returns a buffer that is no longer read. */
  give(buffer: Buffer): void {
    const { length } = buffer;
    if (length < BYTES_MIN || length > BYTES_MAX) return;
    const spares = this.#spares.get(length) ?? [];
    // Spare ones of other lengths are of past contents, or there is room again soon.
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

/** The next multiple of a quarter of the power of two below. */
function steppedUp(bytes: number): number {
  const step = 2 ** (29 - Math.clz32(bytes));
  return Math.ceil(bytes / step) * step;
}
