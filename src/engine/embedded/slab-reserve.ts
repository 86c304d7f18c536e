/**
 * Slabs that are made ahead, one by one, each in a turn of its own. V8 takes the size of every buffer
 * for garbage to come: each second slab makes it mark its whole heap at once, which takes 5 to 9 ms
 * in a loaded process, and 1 ms right after its start. A slab costs addresses alone until it is used.
 */
import type { Clock, Timer } from '../../base/clock.ts';

/** Between two slabs, in ms. */
const PAUSE_MS = 20;
/** When no more than this share is left, all are made again. */
const LEFT_SHARE_MIN = 0.125;

export class SlabReserve {
  readonly #clock: Clock;
  readonly #bytes: number;
  readonly #countMax: number;
  readonly #slabs: ArrayBuffer[] = [];
  #timer: Timer | undefined;
  readonly #onTimer = () => this.#timerOnDue();

  /** Of `countMax` slabs, 0 for none, of so many bytes each. */
  constructor(clock: Clock, bytes: number, countMax: number) {
    this.#clock = clock;
    this.#bytes = bytes;
    this.#countMax = countMax;
    if (countMax > 0) this.#refill();
  }

  /** Slabs that are at hand. */
  get count(): number {
    return this.#slabs.length;
  }

  /** A slab of zeros. Throws RangeError where the system has no memory. */
  take(): ArrayBuffer {
    const slab = this.#slabs.pop() ?? new ArrayBuffer(this.#bytes);
    if (this.count < this.#countMax * LEFT_SHARE_MIN) this.#refill();
    return slab;
  }

  /** None are made any more. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #refill(): void {
    this.#timer ??= this.#clock.after(PAUSE_MS, this.#onTimer);
  }

  #timerOnDue(): void {
    this.#timer = undefined;
    try {
      this.#slabs.push(new ArrayBuffer(this.#bytes));
    } catch {
      // Addresses are limited here: slabs are made when they are needed.
      return;
    }
    if (this.count < this.#countMax) this.#refill();
  }
}
