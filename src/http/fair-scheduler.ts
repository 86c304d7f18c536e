/**
 * Fairness among connections with many requests to run. A connection runs so many in a row; then it
 * stands back, and those that do continue in turn, for some time in each turn of the event loop. So a
 * flood of pipelined requests, on any number of connections, costs the others a few milliseconds.
 */
import type { Clock } from '../base/clock.ts';

/** Requests that a connection runs in a row while it has more of them. */
export const REQUESTS_IN_A_ROW = 64;
/** How long in a turn of the loop connections that stood back continue, in milliseconds. */
const TURN_MS = 5;

/** A connection that stands back. */
export interface Scheduled {
  /** Continues; it may stand back again at once. */
  takeTurn(): void;
}

export class FairScheduler {
  readonly #clock: Clock;
  /** In the order in which they stood back; the first `#next` have had their turn. */
  #waiting: Scheduled[] = [];
  #next = 0;
  readonly #run = (): void => this.#go();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The scheduled continues after the others that wait. */
  add(scheduled: Scheduled): void {
    this.#waiting.push(scheduled);
    if (this.#waiting.length === 1) this.#clock.endOfTurn(this.#run);
  }

  #go(): void {
    const endMs = this.#clock.now() + TURN_MS;
    const last = this.#waiting.length;
    while (this.#next < last) {
      this.#waiting[this.#next++]?.takeTurn();
      if (this.#clock.now() >= endMs) break;
    }
    this.#waiting = this.#waiting.slice(this.#next);
    this.#next = 0;
    if (this.#waiting.length > 0) this.#clock.endOfTurn(this.#run);
  }
}
