/**
 * The member's clock, as an interface, so that tests can set the time and need no sleeps. Code on a
 * hot path reads the time once per turn of the event loop and passes it down.
 */

import { performance } from 'node:perf_hooks';

export interface Clock {
  /** Milliseconds since a fixed moment; monotonic. */
  now(): number;
  /**
   * The result of `now` when `turn` was first called in this turn of the event loop. Only for code
   * that uses `endOfTurn` anyway, as it adds a call at the end of the turn.
   */
  turn(): number;
  /** Milliseconds since 1970-01-01 UTC; may jump in either direction. */
  wall(): number;
  /** Calls `run` once after `delayMs` (0 to TIMER_MS_MAX). The timer does not keep the process alive. */
  after(delayMs: number, run: () => void): Timer;
  /** Calls `run` once, after the input that is already available in this turn has been handled. */
  endOfTurn(run: () => void): void;
}

/** Maximum delay of a timer, in ms and in whole seconds. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
export const TIMER_SECONDS_MAX = Math.floor(TIMER_MS_MAX / 1000);

export interface Timer {
  cancel(): void;
}

/** The system clock. */
export class SystemClock implements Clock {
  #turnMs = -1;
  readonly #endTurn = () => {
    this.#turnMs = -1;
  };

  now(): number {
    return performance.now();
  }

  turn(): number {
    if (this.#turnMs < 0) {
      this.#turnMs = performance.now();
      setImmediate(this.#endTurn);
    }
    return this.#turnMs;
  }

  wall(): number {
    return Date.now();
  }

  after(delayMs: number, run: () => void): Timer {
    const timer = setTimeout(run, delayMs);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  }

  endOfTurn(run: () => void): void {
    setImmediate(run);
  }
}

/** Calls `run` at the end of the next complete turn of the event loop; the present one is partial. */
export function afterNextTurn(clock: Clock, run: () => void): void {
  clock.endOfTurn(() => clock.endOfTurn(run));
}
