/**
 * Counts the bytes that the engine has handed out, and says when there are no more. A little is kept
 * back for moving records together, so that space can still be won when everything else is full.
 */
export class MemoryMeter {
  readonly #bytesMax: number;
  readonly #spareBytes: number;
  #bytes = 0;

  /** `spareBytes` of `bytesMax` (may be Infinity) are for takeSpare alone. */
  constructor(bytesMax: number, spareBytes: number) {
    this.#bytesMax = bytesMax;
    this.#spareBytes = spareBytes;
  }

  /** Bytes handed out. */
  get bytes(): number {
    return this.#bytes;
  }

  /** False, and nothing is taken, when they would be too many. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax - this.#spareBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Takes of what is kept back, too. */
  takeSpare(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Takes them in any case: little things without which nothing goes on. */
  charge(bytes: number): void {
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}
