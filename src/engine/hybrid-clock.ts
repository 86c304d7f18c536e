/**
 * Versions of mutations: a hybrid logical clock (Kulkarni et al., 2014) for one member. A version is
 * 48 bits of milliseconds since 1970 and 16 bits of counter; each is greater than all before it,
 * also when the wall clock stands still or goes back, and close to the wall clock otherwise. The counter of
 * each millisecond begins at a number that is made from the data set's id, so that two data sets rarely give
 * the same version. Clocks of one data set have a place each: the counter is congruent to it, so that no two
 * of them ever give the same version.
 */
import type { Clock } from '../base/clock.ts';
import { murmurHash3 } from './hash.ts';
import type { Version } from './version.ts';

const COUNTER_MAX = 2 ** 16 - 1;
/** The counter of a millisecond begins below this. */
const FIRST_COUNTERS = 2 ** 15;
const FIRST_COUNTER_SEED = 0x0da7a5e7;

export class HybridClock {
  readonly #clock: Pick<Clock, 'wall'>;
  #ms = 0;
  #counter = 0;
  /** The counter at the beginning of a millisecond. */
  #firstCounter = 0;
  /** From a counter to the next one. */
  #step = 1;

  constructor(clock: Pick<Clock, 'wall'>) {
    this.#clock = clock;
  }

  /** The id of the data set that the versions are given in. */
  identify(dataSetId: Uint8Array): void {
    const words = new Int32Array((dataSetId.length + 3) >> 2);
    new Uint8Array(words.buffer).set(dataSetId);
    const hash = murmurHash3(words, 0, dataSetId.length, FIRST_COUNTER_SEED);
    this.#firstCounter = hash % FIRST_COUNTERS;
  }

  /**
   * The clock's place among those of its data set, from 0 to `places` - 1; `places` divides the number of
   * counters.
   */
  setPlace(place: number, places: number): void {
    this.#firstCounter = place;
    this.#step = places;
    // The place that the present millisecond has versions of may be another clock's from now on.
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

  /** Advances to a version that was given before. */
  restore(version: Version): void {
    const ms = (version.high >>> 0) * 2 ** 16 + (version.low >>> 16);
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
