/**
 * Fair scheduling of connections with many pipelined requests. A connection runs REQUESTS_IN_A_ROW, then
 * yields. Connections that have yielded continue round-robin, for TURN_MS in each turn of the event loop.
 * So a flood of pipelined requests on any number of connections delays the others by a few milliseconds.
 */
import type { Clock } from '../base/clock.ts';

/** Number of requests that a connection runs before it yields. */
export const REQUESTS_IN_A_ROW = 64;
/** Time in each turn of the event loop for connections that have yielded, in ms. */
const TURN_MS = 5;

/** A connection that has yielded. */
export interface Scheduled {
  /** Continues the connection, which may yield again during the call. */
  resume(): void;
}

export class FairScheduler {
  readonly #clock: Clock;
  /** In the order in which they yielded; the first `#next` have continued. */
  #waiting: Scheduled[] = [];
  #next = 0;
  readonly #run = (): void => this.#resumeWaiting();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Schedules a connection after those that already wait. */
  add(scheduled: Scheduled): void {
    this.#waiting.push(scheduled);
    if (this.#waiting.length === 1) this.#clock.endOfTurn(this.#run);
  }

  #resumeWaiting(): void {
    const endMs = this.#clock.now() + TURN_MS;
    const last = this.#waiting.length;
    while (this.#next < last) {
      this.#waiting[this.#next++]?.resume();
      if (this.#clock.now() >= endMs) break;
    }
    this.#waiting = this.#waiting.slice(this.#next);
    this.#next = 0;
    if (this.#waiting.length > 0) this.#clock.endOfTurn(this.#run);
  }
}
