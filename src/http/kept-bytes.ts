/**
 * Bytes of a request that outlives its turn: one buffer, which the slot's next such request uses again, as
 * new buffers for each would be half of what a request costs. Longer ones have a buffer for themselves.
 */
import { copySpan, ViewedBytes } from '../base/short-copies.ts';
import type { Span } from '../base/span.ts';

const FIRST_BYTES = 256;
/** A longer buffer is not kept for later requests. */
const REUSED_BYTES_MAX = 2048;

export class KeptBytes {
  #memory = NOTHING;
  #used = 0;

  /** What was kept before is overwritten from now on. Makes room for `bytes` in all. */
  begin(bytes: number): void {
    this.#used = 0;
    if (bytes <= this.#memory.length) return;
    this.#memory = new ViewedBytes(Math.max(FIRST_BYTES, bytes));
  }

  /** Moves the span to a copy of its bytes. */
  keep(span: Span): void {
    const { length } = span;
    if (length === 0) {
      span.clear();
      return;
    }
    const memory = this.#memory;
    const from = this.#used;
    this.#used = from + length;
    copySpan(memory, from, span);
    span.setViewed(memory.bytes, memory.view, from, this.#used);
  }

  /** Nothing kept is used any more. */
  end(): void {
    if (this.#memory.length > REUSED_BYTES_MAX) this.#memory = NOTHING;
  }
}

const NOTHING = new ViewedBytes(0);
