/**
 * Bytes of a request that outlives its turn: a place that the slot's next such request uses again, as new
 * buffers for each would be half of what a request costs. The places of many slots lie in one buffer, so
 * that a request under way takes no buffer's objects into the caches. Longer bytes have a buffer for
 * themselves.
 */
import { copySpan, ViewedBytes } from '../base/short-copies.ts';
import type { Span } from '../base/span.ts';

const PLACE_BYTES = 256;
const BUFFER_BYTES = 64 * PLACE_BYTES;
/** A longer buffer is not kept for later requests. */
const REUSED_BYTES_MAX = 2048;

export class KeptBytes {
  #memory = NOTHING;
  /** The place in the memory, and how far it is used. */
  #start = 0;
  #end = 0;
  #used = 0;

  /** What was kept before is overwritten from now on. Makes room for `bytes` in all. */
  begin(bytes: number): void {
    if (bytes > this.#end - this.#start) this.#makeRoom(bytes);
    this.#used = this.#start;
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

  /** Nothing kept is used any more. */
  end(): void {
    if (this.#end - this.#start <= REUSED_BYTES_MAX) return;
    this.#memory = NOTHING;
    this.#start = this.#end = 0;
  }

  #makeRoom(bytes: number): void {
    if (bytes <= PLACE_BYTES) {
      this.#start = PLACES.take();
      this.#memory = PLACES.memory;
      this.#end = this.#start + PLACE_BYTES;
    } else {
      this.#memory = new ViewedBytes(bytes);
      this.#start = 0;
      this.#end = bytes;
    }
  }
}

/** Gives out places. A buffer is the collector's when all slots with places in it are. */
class Places {
  /** The buffer of the place taken last. */
  memory = new ViewedBytes(BUFFER_BYTES);
  #used = 0;

  /** Where the place begins. */
  take(): number {
    if (this.#used === BUFFER_BYTES) {
      this.memory = new ViewedBytes(BUFFER_BYTES);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += PLACE_BYTES;
    return start;
  }
}

const PLACES = new Places();
const NOTHING = new ViewedBytes(0);
