/**
 * Bytes of a request that outlives its turn: one buffer, which the slot's next such request uses again, as
 * new buffers for each would be half of what a request costs. Longer ones have a buffer for themselves.
 */
import type { Span } from '../base/span.ts';

const FIRST_BYTES = 256;
/** Up to this length a loop copies faster than a call, which makes a view. */
const LOOP_BYTES_MAX = 64;
/** A longer buffer is not kept for later requests. */
const REUSED_BYTES_MAX = 2048;

export class KeptBytes {
  #buffer: Buffer = NOTHING;
  #used = 0;

  /** What was kept before is overwritten from now on. Makes room for `bytes` in all. */
  begin(bytes: number): void {
    this.#used = 0;
    if (bytes <= this.#buffer.length) return;
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, bytes));
  }

  /** Moves the span to a copy of its bytes. */
  keep(span: Span): void {
    const { bytes, start, end, length } = span;
    if (length === 0) {
      span.clear();
      return;
    }
    const buffer = this.#buffer;
    const from = this.#used;
    this.#used = from + length;
    if (length > LOOP_BYTES_MAX) bytes.copy(buffer, from, start, end);
    else for (let at = start, to = from; at < end; at++) buffer[to++] = bytes[at] as number;
    span.set(buffer, from, this.#used);
  }

  /** Nothing kept is used any more. */
  end(): void {
    if (this.#buffer.length > REUSED_BYTES_MAX) this.#buffer = NOTHING;
  }
}

const NOTHING = Buffer.alloc(0);
