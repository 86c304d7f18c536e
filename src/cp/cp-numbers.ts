/**
 * Numbers that only rise, each series in an entry: the ids of sessions, and fences. A number is at least
 * the time of the second in which it is taken, in microseconds: numbers also rise if the store has lost
 * the last ones. Tested by lock-work.spec.ts.
 */
import type { Version } from '../engine/version.ts';
import type { CpStore } from './cp-store.ts';
import type { Steps } from './steps.ts';

export class CpNumbers {
  readonly #store: CpStore;
  readonly #key: string;
  readonly #wall: () => number;

  /** `wall` returns the time, in ms since 1970. */
  constructor(store: CpStore, key: string, wall: () => number) {
    this.#store = store;
    this.#key = key;
    this.#wall = wall;
  }

  /** The number that a number taken now is at least. */
  get floor(): number {
    return Math.floor(this.#wall() / 1000) * 1_000_000;
  }

  /** Takes consecutive numbers, and returns the first one. */
  *take(count: number): Steps<number> {
    const { floor } = this;
    for (;;) {
      const { sum, version } = yield* this.#store.add(this.#key, count);
      const first = sum - count + 1;
      if (first >= floor) return first;
      if (yield* this.#raise(floor + count - 1, version)) return floor;
    }
  }

  /**
   * Raises the last number to a later one; false if another caller has done so. It adds nothing meanwhile,
   * so of several callers one succeeds. A sum of their differences would be far beyond the floor.
   */
  *#raise(last: number, added: Version): Steps<boolean> {
    for (let version: Version | undefined = added; version !== undefined; ) {
      if (yield* this.#store.set(this.#key, `${last}`, { oneOf: [version] })) return true;
      const entry = yield* this.#store.get(this.#key);
      version = entry !== undefined && Number(entry.text) < last ? entry.version : undefined;
    }
    return false;
  }
}
