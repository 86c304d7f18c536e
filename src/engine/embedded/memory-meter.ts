/**
 * Counts the bytes that the engine has allocated, and refuses more at the limit. Clients' writes
 * are refused below it: some memory is reserved for packing cells, so that space can still be
 * reclaimed when everything else is full, and a margin is reserved for the next start. The margin
 * is needed because cells that are written again in another order fill extents and indexes
 * differently and may need more of them.
 *
 * While an engine is filled (refill.ts), all of the limit may be used, and Refill may exceed it.
 * Tested by refill.spec.ts.
 */
import assert from 'node:assert/strict';

/**
 * Share of the limit reserved for the next start. Random rounds needed a quarter of it (soak:
 * memory).
 */
const MARGIN_SHARE = 1 / 64;
const MARGIN_BYTES_MAX = 67_108_864;

const NONE = 0;
const ALLOWED = 1;
const USED = 2;

export class MemoryMeter {
  /** The limit, in bytes; may be Infinity. */
  readonly bytesMax: number;
  readonly #spareBytes: number;
  readonly #writeLimit: number;
  #bytes = 0;
  #limit: number;
  /** The limit for allocateReserved, in bytes. */
  #spareLimit: number;
  #overdraft = NONE;
  /** Whether an engine is being filled. */
  isFilling = false;

  /**
   * `bytesMax` includes `spareBytes`, which are only for allocateReserved, and `marginBytes`, which
   * are reserved for the next start.
   */
  constructor(bytesMax: number, spareBytes: number, marginBytes = 0) {
    this.bytesMax = bytesMax;
    this.#spareBytes = spareBytes;
    this.#writeLimit = bytesMax - marginBytes - spareBytes;
    this.#limit = this.#writeLimit;
    this.#spareLimit = bytesMax - marginBytes;
  }

  /** Returns the margin for a limit, in bytes. */
  static marginBytes(bytesMax: number): number {
    return Math.min(bytesMax * MARGIN_SHARE, MARGIN_BYTES_MAX);
  }

  /** Number of allocated bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether more is allocated than clients' writes may allocate. */
  get exceedsWriteLimit(): boolean {
    return this.#bytes > this.#writeLimit;
  }

  /** Allocates the bytes. Returns false, and allocates nothing, if they would exceed the limit. */
  allocate(bytes: number): boolean {
    if (this.#bytes + bytes > this.#limit) return false;
    this.#bytes += bytes;
    return true;
  }

  /**
   * Allocates the bytes, also from the reserved memory. If small allocations have used that up, it
   * may exceed the limit once.
   */
  allocateReserved(bytes: number): boolean {
    if (this.#bytes + bytes > this.#spareLimit) {
      if (this.#overdraft !== ALLOWED) return false;
      this.#overdraft = USED;
    }
    this.#bytes += bytes;
    return true;
  }

  /** Allocates the bytes in any case, for small things that are always needed. */
  charge(bytes: number): void {
    this.#bytes += bytes;
    if (this.#overdraft === NONE && this.#bytes > this.#writeLimit) this.#overdraft = ALLOWED;
  }

  free(bytes: number): void {
    if (bytes > this.#bytes) assert.fail('more bytes are freed than are allocated');
    this.#bytes -= bytes;
    if (this.#overdraft === USED && bytes >= this.#spareBytes) this.#overdraft = ALLOWED;
  }

  /** Allows allocations of up to `bytes` beyond the limit, until a call with 0. */
  lend(bytes: number): void {
    this.#limit = bytes === 0 ? this.#writeLimit : this.#spareLimit + bytes;
  }

  /**
   * Allows allocations of all of `bytesMax`, and in any case of `more` bytes than are allocated
   * now.
   */
  fill(more = 0): void {
    this.isFilling = true;
    this.#limit = Math.max(this.bytesMax, this.#bytes + more);
    this.#spareLimit = Number.POSITIVE_INFINITY;
  }

  /** Ends the filling. Even if the limit is exceeded, cells can still be packed. */
  serve(): void {
    this.isFilling = false;
    this.#limit = this.#writeLimit;
    this.#spareLimit = Math.max(this.#writeLimit, this.#bytes) + this.#spareBytes;
  }
}
