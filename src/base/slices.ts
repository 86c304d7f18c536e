/**
 * Splits long work into slices, between which the event loop runs other work. A loop calls `pause`
 * after each of its steps.
 */

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
