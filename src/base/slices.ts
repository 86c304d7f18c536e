/**
 * Splits long work into slices, between which the event loop runs other work. A loop calls `pause`
 * after each of its steps.
 */

import { isDeepStrictEqual } from 'node:util';

/** Length of a slice, in ms: much shorter than a client would notice. */
const SLICE_MS = 5;

export class Slices {
  #since = performance.now();

  /** Returns a promise to await before the next step; undefined if the step can run at once. */
  pause(): Promise<void> | undefined {
    if (performance.now() - this.#since < SLICE_MS) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#since = performance.now();
        resolve();
      });
    });
  }
}

/** Calls `work` for each item, in slices of time. */
export async function inSlices<Item>(
  items: Iterable<Item>,
  work: (item: Item) => void,
  slices = new Slices(),
): Promise<void> {
  for (const item of items) {
    work(item);
    const pause = slices.pause();
    if (pause !== undefined) await pause;
  }
}

/**
 * Slices of several tasks that run concurrently: one of them runs in each turn of the event loop.
 */
export class SharedSlices {
  #since = performance.now();
  readonly #waiting: (() => void)[] = [];

  /** Returns a promise to await before the next step; undefined if the step can run at once. */
  pause(): Promise<void> | undefined {
    if (performance.now() - this.#since < SLICE_MS) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#next());
    });
  }

  /** Runs a slice of the task that has waited longest. */
  #next(): void {
    const resolve = this.#waiting.shift()!;
    if (this.#waiting.length > 0) setImmediate(() => this.#next());
    this.#since = performance.now();
    resolve();
  }
}

/**
 * Returns whether two values are deeply equal, in slices of time: the elements of arrays and maps
 * are compared one by one; the order of a map's entries does not matter.
 */
export async function isDeepEqualInSlices(
  one: unknown,
  other: unknown,
  slices = new Slices(),
): Promise<boolean> {
  if (one === other) return true;
  const pairs = pairsOf(one, other);
  if (pairs === undefined) return isDeepStrictEqual(one, other);
  for (const [a, b] of pairs) {
    if (a !== b && !(await isDeepEqualInSlices(a, b, slices))) return false;
    const pause = slices.pause();
    if (pause !== undefined) await pause;
  }
  return true;
}

/** Returns the pairs that have to be equal; undefined if the values are compared as a whole. */
function pairsOf(one: unknown, other: unknown): Iterable<readonly [unknown, unknown]> | undefined {
  if (one instanceof Map && other instanceof Map && one.size === other.size) {
    return pairsByName(one, other);
  }
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    return pairsByIndex(one, other);
  }
  return undefined;
}

function* pairsByName(one: ReadonlyMap<unknown, unknown>, other: ReadonlyMap<unknown, unknown>) {
  for (const [name, value] of one)
    yield [value, other.has(name) ? other.get(name) : ABSENT] as const;
}

function* pairsByIndex(one: readonly unknown[], other: readonly unknown[]) {
  for (const [index, item] of one.entries()) yield [item, other[index]] as const;
}

/** Equal to no value. */
const ABSENT = Symbol('absent');
