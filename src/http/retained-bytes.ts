/**
 * Storage for the bytes of requests that outlive their turn. Each request object has a fixed place of
 * PLACE_BYTES in a buffer shared by many, so that a request under way needs no buffer object in the CPU
 * caches. That saves 5 % of a pipelined GET with an engine on servers (`make bench-peers
 * NAME=store-pipelined-32`). It owns its place permanently. Longer bytes get a separate buffer in addition.
 */
import { copySpan, NO_VIEWED_BYTES, ViewedBytes } from '../base/copy-bytes.ts';
import { NumberAllocator } from '../base/number-allocator.ts';
import type { Span } from '../base/span.ts';

/** Size of a place, in bytes: an odd number of cache lines, so that places spread over all cache sets. */
export const PLACE_BYTES = 192;
/** Binary logarithm of the number of places in a buffer. */
const BUFFER_BITS = 6;
const PLACE_MASK = (1 << BUFFER_BITS) - 1;
/** Maximum length of a separate buffer that is reused for later requests, in bytes. */
const REUSED_BYTES_MAX = 2048;
export const NO_PLACE = -1;

/** An owner of a place, which retains bytes of one request at a time. */
export interface BytesRetainer {
  /** The number of its place; NO_PLACE before the first use, or if no place is left. */
  place: number;
  /** The separate buffer for longer bytes. */
  longBytes: ViewedBytes | undefined;
}

/** The places of a server's requests. Their buffers are never freed. */
export class Places {
  readonly #countMax: number;
  readonly #buffers: ViewedBytes[] = [];
  readonly #numbers = new NumberAllocator();
  /** Destination of the next copied bytes. */
  #memory = NO_VIEWED_BYTES;
  #used = 0;

  /** `countMax`: limit for the number of places. */
  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Bytes of all buffers. */
  get bytes(): number {
    return (this.#buffers.length * PLACE_BYTES) << BUFFER_BITS;
  }

  /**
   * Prepares to retain `bytes` in total for `retainer`; its earlier bytes are overwritten. Returns whether
   * `endRetention` must be called afterwards.
   */
  begin(retainer: BytesRetainer, bytes: number): boolean {
    if (retainer.place === NO_PLACE) retainer.place = this.#allocate();
    const { place } = retainer;
    if (bytes > PLACE_BYTES || place === NO_PLACE) return this.#beginLong(retainer, bytes);
    this.#memory = this.#buffers[place >> BUFFER_BITS]!;
    this.#used = (place & PLACE_MASK) * PLACE_BYTES;
    return false;
  }

  /** Copies the bytes of the span and makes the span refer to the copy. */
  retain(span: Span): void {
    const { length } = span;
    if (length === 0) return;
    const memory = this.#memory;
    const from = this.#used;
    this.#used = from + length;
    copySpan(memory, from, span);
    span.setViewed(memory.bytes, memory.view, from, this.#used);
  }

  /** Frees the place of `retainer`, which is discarded. */
  release(retainer: BytesRetainer): void {
    if (retainer.place !== NO_PLACE) this.#numbers.free(retainer.place);
    retainer.place = NO_PLACE;
    retainer.longBytes = undefined;
  }

  #beginLong(retainer: BytesRetainer, bytes: number): boolean {
    if (retainer.longBytes === undefined || retainer.longBytes.length < bytes)
      retainer.longBytes = new ViewedBytes(Math.max(bytes, PLACE_BYTES));
    this.#memory = retainer.longBytes;
    this.#used = 0;
    return this.#memory.length > REUSED_BYTES_MAX;
  }

  #allocate(): number {
    if (this.#numbers.count === this.#countMax) return NO_PLACE;
    const place = this.#numbers.allocate();
    if (place >> BUFFER_BITS === this.#buffers.length)
      this.#buffers.push(new ViewedBytes(PLACE_BYTES << BUFFER_BITS));
    return place;
  }
}

/** Frees a long buffer, when the bytes of `retainer` are no longer used. */
export function endRetention(retainer: BytesRetainer): void {
  const { longBytes } = retainer;
  if (longBytes !== undefined && longBytes.length > REUSED_BYTES_MAX)
    retainer.longBytes = undefined;
}
