/**
 * Counts the bytes that the engine has handed out, and refuses more at the limit. Writes of clients
 * stop short of it: some memory is kept back for moving cells together, so that space can still be
 * won when everything else is full, and a margin for the next start. The same cells, written again in
 * another order, fill extents and indexes otherwise and may take more of them.
 *
 * While an engine is filled (refill.ts), all of the limit may be used, and Refill may exceed it.
 */
import assert from 'node:assert/strict';

/** Share of the limit for the next start. Rounds at random needed a quarter of that (soak: memory). */
const MARGIN_SHARE = 1 / 64;
const MARGIN_BYTES_MAX = 67_108_864;

const NONE = 0;
const ALLOWED = 1;
const USED = 2;

export class MemoryMeter {
  /** May be Infinity. */
  readonly bytesMax: number;
  readonly #spareBytes: number;
  readonly #writeLimit: number;
  #bytes = 0;
  #limit: number;
  /** The limit for takeSpare. */
  #spareLimit: number;
  #overdraft = NONE;
  /** Whether an engine is being filled. */
  isFilling = false;

  /** Of `bytesMax`, `spareBytes` are for takeSpare alone, and `marginBytes` for the next start. */
  constructor(bytesMax: number, spareBytes: number, marginBytes = 0) {
    this.bytesMax = bytesMax;
    this.#spareBytes = spareBytes;
    this.#writeLimit = bytesMax - marginBytes - spareBytes;
    this.#limit = this.#writeLimit;
    this.#spareLimit = bytesMax - marginBytes;
  }

  /** The margin that a member keeps. */
  static marginBytes(bytesMax: number): number {
    return Math.min(bytesMax * MARGIN_SHARE, MARGIN_BYTES_MAX);
  }

  /** Bytes handed out. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether more is handed out than writes of clients may take. */
  get isOver(): boolean {
    return this.#bytes > this.#writeLimit;
  }

  /** False, and nothing is taken, where they would exceed the limit. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#limit) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Also takes the memory kept back. Where small things have used that up, once beyond the limit. */
  takeSpare(bytes: number): boolean {
    if (this.#bytes + bytes > this.#spareLimit) {
      if (this.#overdraft !== ALLOWED) return false;
      this.#overdraft = USED;
    }
    this.#bytes += bytes;
    return true;
  }

  /** Takes them in any case, for small things that are always needed. */
  charge(bytes: number): void {
    this.#bytes += bytes;
    if (this.#overdraft === NONE && this.#bytes > this.#writeLimit) this.#overdraft = ALLOWED;
  }

  give(bytes: number): void {
    if (bytes > this.#bytes) assert.fail('bytes are given back once');
    this.#bytes -= bytes;
    if (this.#overdraft === USED && bytes >= this.#spareBytes) this.#overdraft = ALLOWED;
  }

  /** Until a call with 0, so many bytes beyond the limit may be taken. */
  lend(bytes: number): void {
    this.#limit = bytes === 0 ? this.#writeLimit : this.#spareLimit + bytes;
  }

  /** From now on all of `bytesMax` may be taken, and in any case `more` than is taken now. */
  fill(more = 0): void {
    this.isFilling = true;
    this.#limit = Math.max(this.bytesMax, this.#bytes + more);
    this.#spareLimit = Number.POSITIVE_INFINITY;
  }

  /** The filling is over. Even where the limit is exceeded, cells can still be moved together. */
  serve(): void {
    this.isFilling = false;
    this.#limit = this.#writeLimit;
    this.#spareLimit = Math.max(this.#writeLimit, this.#bytes) + this.#spareBytes;
  }
}
