/**
 * A stock of slabs that are allocated in advance, one at a time, each in a turn of its own. V8
 * counts the size of every buffer as future garbage: every second slab makes it mark its whole heap
 * at once, which takes 5 to 9 ms in a loaded process, and 1 ms right after its start. A slab uses
 * only addresses until it is written to (bench: slab-stock).
 *
 * While an engine is refilled, slabs are certain to be used soon: then the pages of the next one
 * are also touched.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { prefaultPages } from './prefault.ts';

/** Delay before the first slab, in ms: a starting member begins to serve first. */
const START_MS = 500;
/** Pause between two slabs, in ms. */
const PAUSE_MS = 20;
/** Share of the stock below which it is refilled. */
const LEFT_SHARE_MIN = 0.125;
/** Bytes of new buffers after which V8 begins to mark. */
const SETTLING_BYTES = 67_108_864;

export class SlabStock {
  readonly #clock: Clock;
  readonly #bytes: number;
  readonly #countMax: number;
  readonly #free: (slab: ArrayBuffer) => void;
  readonly #prefault: typeof prefaultPages;
  readonly #slabs: ArrayBuffer[] = [];
  #timer: Timer | undefined;
  readonly #onTimer = () => this.#timerOnDue();
  #isFilling = false;
  #isTouching = false;
  #touched: ArrayBuffer | undefined;

  /**
   * Stocks up to `countMax` slabs of `bytes` each, 0 for none; `free` releases a slab to the
   * system.
   */
  constructor(
    clock: Clock,
    bytes: number,
    countMax: number,
    free: (slab: ArrayBuffer) => void,
    prefault = prefaultPages,
  ) {
    this.#clock = clock;
    this.#bytes = bytes;
    this.#countMax = countMax;
    this.#free = free;
    this.#prefault = prefault;
    if (countMax > 0) this.#timer = clock.after(START_MS, this.#onTimer);
  }

  /** Number of slabs in the stock. */
  get count(): number {
    return this.#slabs.length;
  }

  /** Returns a slab of zeros. Throws RangeError if the system has no memory. */
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

  /** Stops the allocation of slabs. */
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
    this.#prefault(slab, () => {
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
      // This dropped buffer makes V8 mark its heap now, in steps, and not at once when the next
      // load begins. A smaller stock brings V8 less close to that.
      else if (this.#countMax * this.#bytes >= SETTLING_BYTES) new ArrayBuffer(SETTLING_BYTES);
    } catch {
      // The address space is limited: slabs are allocated when they are needed.
    }
  }
}
