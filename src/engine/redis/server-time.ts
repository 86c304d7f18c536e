/**
 * The estimated time of the store's servers. Lifetimes use only this time.
 * Tested by changing-servers.spec.ts.
 */
import type { Clock } from '../../base/clock.ts';

export class ServerTime {
  readonly #clock: Clock;
  /** Lead of the servers' time over the clock's monotonic time, in ms. */
  #aheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#aheadMs = clock.wall() - clock.now();
  }

  /** Whole milliseconds since 1970. */
  wall(): number {
    return Math.floor(this.#clock.turn() + this.#aheadMs);
  }

  /**
   * Sets the time that a server has reported. `sentAt`: the time of the query, by `clock.now()`.
   */
  set(serverMs: number, sentAt: number): void {
    const now = this.#clock.now();
    this.#aheadMs = serverMs - (sentAt + now) / 2;
  }
}
