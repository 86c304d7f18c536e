/**
 * Versions of mutations: a hybrid logical clock (Kulkarni et al., 2014) for one member. A version is
 * 48 bits of milliseconds since 1970 and 16 bits of counter; each is greater than all before it,
 * also when the wall clock stands still or goes back, and close to the wall clock otherwise.
 */
import type { Clock } from '../base/clock.ts';
import type { Version } from './version.ts';

const COUNTER_MAX = 2 ** 16 - 1;

export class HybridClock {
  readonly #clock: Pick<Clock, 'wall'>;
  #ms = 0;
  #counter = 0;

  constructor(clock: Pick<Clock, 'wall'>) {
    this.#clock = clock;
  }

  /** Advances to the next version; `low` and `high` are its words. */
  tick(): void {
    const wallMs = this.#clock.wall();
    if (wallMs > this.#ms) {
      this.#ms = Math.floor(wallMs);
      this.#counter = 0;
    } else if (this.#counter < COUNTER_MAX) {
      this.#counter++;
    } else {
      this.#ms++;
      this.#counter = 0;
    }
  }

  /** Advances to a version that was given before. */
  restore(version: Version): void {
    const ms = (version.high >>> 0) * 2 ** 16 + (version.low >>> 16);
    if (ms < this.#ms) return;
    const counter = version.low & COUNTER_MAX;
    this.#counter = ms === this.#ms ? Math.max(this.#counter, counter) : counter;
    this.#ms = ms;
  }

  get low(): number {
    return ((this.#ms & COUNTER_MAX) << 16) | this.#counter;
  }

  get high(): number {
    return Math.floor(this.#ms / 2 ** 16) | 0;
  }
}
