/**
 * One-shot timer. Setting an earlier time moves it; setting a later one does not, as replacing the
 * timer on every call would be expensive. The callback checks the clock and re-arms the timer.
 */
import type { Clock, Timer } from '../base/clock.ts';

export class OneShotTimer {
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

  /** Arms the timer for a time on the clock's `now` scale. Infinity cancels it. */
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
