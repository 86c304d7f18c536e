/**
 * Fences: numbers of one series, in order. If only this member takes fences, it takes several at once from
 * the store, and gives them out one by one: the store then has a number that none of them exceeds. If
 * several members do, each fence is taken from the store, so that it is later than all before.
 * Tested by lock-work.spec.ts.
 */
import { CpNumbers } from './cp-numbers.ts';
import type { CpStore } from './cp-store.ts';
import type { Steps } from './steps.ts';

const KEY = 'fence';
/** Number of fences that are taken at once if only this member takes some. */
const BATCH_COUNT = 1000;

export class Fences {
  readonly #numbers: CpNumbers;
  readonly #count: number;
  /** The fences that are left, the last one included. */
  #next = 1;
  #last = 0;

  /** `wall` returns the time, in ms since 1970. */
  constructor(store: CpStore, isShared: boolean, wall: () => number) {
    this.#numbers = new CpNumbers(store, KEY, wall);
    this.#count = isShared ? 1 : BATCH_COUNT;
  }

  /** Returns the next fence if it needs no step; otherwise 0. */
  takeNow(): number {
    const next = this.#next;
    if (next > this.#last || next < this.#numbers.floor) return 0;
    this.#next++;
    return next;
  }

  /** Takes fences from the store, and returns the first one. */
  *take(): Steps<number> {
    const first = yield* this.#numbers.take(this.#count);
    this.#next = first + 1;
    this.#last = first + this.#count - 1;
    return first;
  }
}
