/**
 * Calls once by a time. It is set to sooner times and not put off, as that costs a timer each time: who is
 * called looks whether it is time, and sets it again.
 */
import type { Clock, Timer } from '../base/clock.ts';

export class Alarm {
  readonly #clock: Clock;
  readonly #run: () => void;
  #timer: Timer | undefined;
  #dueMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, run: () => void) {
    this.#clock = clock;
    this.#run = run;
  }

  get isSet(): boolean {
    return this.#timer !== undefined;
  }

  /** The time is one of the clock's `now`. Infinity for no time: what was set is cancelled. */
  set(dueMs: number): void {
    if (dueMs >= this.#dueMs && dueMs !== Number.POSITIVE_INFINITY) return;
    this.cancel();
    if (dueMs === Number.POSITIVE_INFINITY) return;
    this.#dueMs = dueMs;
    this.#timer = this.#clock.after(Math.max(0, Math.ceil(dueMs - this.#clock.now())), () => {
      this.cancel();
      this.#run();
    });
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#dueMs = Number.POSITIVE_INFINITY;
  }
}
