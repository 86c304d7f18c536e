/**
 * Versions of mutations: a hybrid logical clock (Kulkarni et al., 2014) for one member. A version
 * is 48 bits of milliseconds since 1970 and 16 bits of counter. Each is greater than all before it,
 * even if the wall clock stops or is set back, and otherwise close to the wall clock. In each
 * millisecond the counter starts at a number derived from the data set's id, so that two data sets
 * rarely generate the same version. If a data set has several clocks, each has a place: its
 * counters are congruent to the place, so that no two clocks ever generate the same version.
 */
import type { Clock } from '../base/clock.ts';
import { murmurHash3 } from './hash.ts';
import { msOf, type Version } from './version.ts';

const COUNTER_MAX = 2 ** 16 - 1;
/** The counter of a millisecond starts below this. */
const FIRST_COUNTERS = 2 ** 15;
const FIRST_COUNTER_SEED = 0x0da7a5e7;

export class HybridClock {
  readonly #clock: Pick<Clock, 'wall'>;
  #ms = 0;
  #counter = 0;
  /** The counter at the start of a millisecond. */
  #firstCounter = 0;
  /** Difference between two successive counters. */
  #step = 1;

  constructor(clock: Pick<Clock, 'wall'>) {
    this.#clock = clock;
  }

  /** Sets the id of the data set that the versions belong to. */
  identify(dataSetId: Uint8Array): void {
    const words = new Int32Array((dataSetId.length + 3) >> 2);
    new Uint8Array(words.buffer).set(dataSetId);
    const hash = murmurHash3(words, 0, dataSetId.length, FIRST_COUNTER_SEED);
    this.#firstCounter = hash % FIRST_COUNTERS;
  }

  /**
   * Sets the clock's place among the clocks of its data set, from 0 to `places` - 1; `places`
   * divides the number of counters.
   */
  setPlace(place: number, places: number): void {
    this.#firstCounter = place;
    this.#step = places;
    // Skips the rest of this millisecond: another clock may now have the place of its versions.
    this.#counter = COUNTER_MAX;
  }

  /** Advances to the next version; `low` and `high` are its words. */
  tick(): void {
    const wallMs = this.#clock.wall();
    if (wallMs > this.#ms) {
      this.#ms = Math.floor(wallMs);
      this.#counter = this.#firstCounter;
    } else if (this.#counter + this.#step <= COUNTER_MAX) {
      this.#counter += this.#step;
    } else {
      this.#ms++;
      this.#counter = this.#firstCounter;
    }
  }

  /** Advances to a version that was generated before. */
  restore(version: Version): void {
    const ms = msOf(version.low, version.high);
    if (ms < this.#ms) return;
    const counter = version.low & COUNTER_MAX;
    this.#counter = ms === this.#ms ? Math.max(this.#counter, counter) : counter;
    this.#ms = ms;
  }

  /** The milliseconds of the last version. */
  get ms(): number {
    return this.#ms;
  }

  get low(): number {
    return ((this.#ms & COUNTER_MAX) << 16) | this.#counter;
  }

  get high(): number {
    return Math.floor(this.#ms / 2 ** 16) | 0;
  }
}
