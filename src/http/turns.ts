/**
 * Fairness among connections with many requests at hand. A connection runs so many in a row; then it
 * stands back, and those that do go on in turn, a while in each turn of the event loop. So a flood of
 * pipelined requests, on however many connections, costs the others a few milliseconds.
 */
import type { Clock } from '../base/clock.ts';

/** Requests that a connection runs in a row while it has more of them. */
export const REQUESTS_IN_A_ROW = 64;
/** For how long in a turn of the loop connections that stood back go on, in milliseconds. */
const TURN_MS = 5;

/** What stands back. */
export interface Taker {
  /** Goes on; it may stand back again at once. */
  takeTurn(): void;
}

export class Turns {
  readonly #clock: Clock;
  /** In the order in which they stood back; the first `#next` have had their turn. */
  #waiting: Taker[] = [];
  #next = 0;
  readonly #run = (): void => this.#go();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Has the taker go on after the others that wait. */
  add(taker: Taker): void {
    this.#waiting.push(taker);
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
