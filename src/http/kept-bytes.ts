/**
 * Bytes of requests that outlive their turn. Each slot has a place for its own, in a buffer of many places,
 * so that a request under way takes no buffer's objects into the caches; it stays the slot's. More bytes
 * than that have a buffer for themselves, beside the place.
 */
import { copySpan, ViewedBytes } from '../base/short-copies.ts';
import type { Span } from '../base/span.ts';

/** An odd number of cache lines: at an even one, places would lie in a part of the caches only. */
export const PLACE_BYTES = 192;
/** A buffer has so many places: a power of two. */
const BUFFER_BITS = 6;
const PLACE_MASK = (1 << BUFFER_BITS) - 1;
/** A longer buffer is not kept for later requests. */
const REUSED_BYTES_MAX = 2048;
export const NO_PLACE = -1;

/** Keeps bytes of one request at a time. */
export interface BytesKeeper {
  /** The number of its place; NO_PLACE before it keeps any, and while there is none left. */
  place: number;
  /** The buffer for more bytes. */
  longBytes: ViewedBytes | undefined;
}

/** The places of a server's slots. Their buffers are kept. */
export class Places {
  readonly #countMax: number;
  readonly #buffers: ViewedBytes[] = [];
  readonly #free: number[] = [];
  /** Places that have been taken at least once. */
  #count = 0;
  /** Where the next bytes are copied to. */
  #memory: ViewedBytes = NOTHING;
  #used = 0;

  /** `countMax`: so many places at most. */
  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Bytes of all buffers. */
  get bytes(): number {
    return (this.#buffers.length * PLACE_BYTES) << BUFFER_BITS;
  }

  /**
   * What is kept from now on is the keeper's, `bytes` in all; what that kept before is overwritten. True:
   * `endKept` is to be called afterwards.
   */
  begin(keeper: BytesKeeper, bytes: number): boolean {
    if (keeper.place === NO_PLACE) keeper.place = this.#take();
    const { place } = keeper;
    if (bytes > PLACE_BYTES || place === NO_PLACE) return this.#beginLong(keeper, bytes);
    this.#memory = this.#buffers[place >> BUFFER_BITS]!;
    this.#used = (place & PLACE_MASK) * PLACE_BYTES;
    return false;
  }

  /** Moves the span to a copy of its bytes. */
  keep(span: Span): void {
    const { length } = span;
    if (length === 0) return;
    const memory = this.#memory;
    const from = this.#used;
    this.#used = from + length;
    copySpan(memory, from, span);
    span.setViewed(memory.bytes, memory.view, from, this.#used);
  }

  /** The keeper is not used any more. */
  release(keeper: BytesKeeper): void {
    if (keeper.place !== NO_PLACE) this.#free.push(keeper.place);
    keeper.place = NO_PLACE;
    keeper.longBytes = undefined;
  }

  #beginLong(keeper: BytesKeeper, bytes: number): boolean {
    if (keeper.longBytes === undefined || keeper.longBytes.length < bytes)
      keeper.longBytes = new ViewedBytes(Math.max(bytes, PLACE_BYTES));
    this.#memory = keeper.longBytes;
    this.#used = 0;
    return this.#memory.length > REUSED_BYTES_MAX;
  }

  #take(): number {
    const place = this.#free.pop();
    if (place !== undefined) return place;
    if (this.#count === this.#countMax) return NO_PLACE;
    if (this.#count >> BUFFER_BITS === this.#buffers.length)
      this.#buffers.push(new ViewedBytes(PLACE_BYTES << BUFFER_BITS));
    return this.#count++;
  }
}

/** Nothing that the keeper has kept is used any more. */
export function endKept(keeper: BytesKeeper): void {
  const { longBytes } = keeper;
  if (longBytes !== undefined && longBytes.length > REUSED_BYTES_MAX) keeper.longBytes = undefined;
}

const NOTHING = new ViewedBytes(0);
