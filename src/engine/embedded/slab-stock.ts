/**
 * Slabs that are made ahead, one by one, each in a turn of its own. V8 counts the size of every buffer
 * as garbage to come: each second slab makes it mark its whole heap at once, which takes 5 to 9 ms in a
 * loaded process, and 1 ms right after its start. A slab costs only addresses until it is used (bench:
 * slab-stock).
 *
 * While an engine is filled again, slabs are sure to be used soon: then the pages of the next one are
 * touched, too.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { touchPages } from './touched-pages.ts';

/** Delay at the start, as a member begins to serve first; in ms. */
const START_MS = 500;
/** Between two slabs, in ms. */
const PAUSE_MS = 20;
/** When no more than this share is left, the stock is filled again. */
const LEFT_SHARE_MIN = 0.125;
/** After so many bytes of new buffers V8 begins to mark. */
const SETTLING_BYTES = 67_108_864;

export class SlabStock {
  readonly #clock: Clock;
  readonly #bytes: number;
  readonly #countMax: number;
  readonly #free: (slab: ArrayBuffer) => void;
  readonly #touch: typeof touchPages;
  readonly #slabs: ArrayBuffer[] = [];
  #timer: Timer | undefined;
  readonly #onTimer = () => this.#timerOnDue();
  #isFilling = false;
  #isTouching = false;
  #touched: ArrayBuffer | undefined;

  /** For `countMax` slabs, 0 for none, of so many bytes each; `free` gives one back to the system. */
  constructor(
    clock: Clock,
    bytes: number,
    countMax: number,
    free: (slab: ArrayBuffer) => void,
    touch = touchPages,
  ) {
    this.#clock = clock;
    this.#bytes = bytes;
    this.#countMax = countMax;
    this.#free = free;
    this.#touch = touch;
    if (countMax > 0) this.#timer = clock.after(START_MS, this.#onTimer);
  }

  /** Slabs in the stock. */
  get count(): number {
    return this.#slabs.length;
  }

  /** A slab of zeros. Throws RangeError where the system has no memory. */
  take(): ArrayBuffer {
    const slab = this.#touched ?? this.#next();
    this.#touched = undefined;
    if (this.#isFilling && !this.#isTouching && this.count > 0) this.#touchNext();
    return slab;
  }

  /** Whether an engine is being filled. */
  set isFilling(isFilling: boolean) {
    this.#isFilling = isFilling;
    if (isFilling || this.#touched === undefined) return;
    this.#free(this.#touched);
    this.#touched = undefined;
  }

  /** None are made any more. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #next(): ArrayBuffer {
    const slab = this.#slabs.pop() ?? new ArrayBuffer(this.#bytes);
    if (this.count < this.#countMax * LEFT_SHARE_MIN) this.#refill();
    return slab;
  }

  #touchNext(): void {
    const slab = this.#next();
    this.#isTouching = true;
    this.#touch(slab, () => {
      this.#isTouching = false;
      if (this.#isFilling) this.#touched = slab;
      else this.#free(slab);
    });
  }

  #refill(): void {
    this.#timer ??= this.#clock.after(PAUSE_MS, this.#onTimer);
  }

  #timerOnDue(): void {
    this.#timer = undefined;
    try {
      this.#slabs.push(new ArrayBuffer(this.#bytes));
      if (this.count < this.#countMax) this.#refill();
      // With this dropped buffer V8 marks its heap now, in steps, and not at once when the next load
      // begins.
      else new ArrayBuffer(SETTLING_BYTES);
    } catch {
      // Addresses are limited here: slabs are made when they are needed.
    }
  }
}
