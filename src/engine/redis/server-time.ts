/** The time of the store's servers, as this member knows it: lifetimes go by it alone. */
import type { Clock } from '../../base/clock.ts';

export class ServerTime {
  readonly #clock: Clock;
  /** What the servers' time is ahead of the clock's monotonic one, in ms. */
  #aheadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#aheadMs = clock.wall() - clock.now();
  }

  /** Milliseconds since 1970, a whole number. */
  wall(): number {
    return Math.floor(this.#clock.now() + this.#aheadMs);
  }

  /** A server has told its time, asked at `askedAt` on the clock's `now`. */
  set(serverMs: number, askedAt: number): void {
    const now = this.#clock.now();
    this.#aheadMs = serverMs - (askedAt + now) / 2;
  }
}
