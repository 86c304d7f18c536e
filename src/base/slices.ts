/**
 * Splits long work into slices. The event loop turns between them, so that other work is served. A loop
 * asks after each of its steps whether it has to pause.
 */

/** Length of a slice: much shorter than a client would notice. */
const SLICE_MS = 5;

export class Slices {
  #since = performance.now();

  /** The promise to wait for before the next step; undefined where that can be done at once. */
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

/** The slices of several pieces of work that are under way at once: in a turn one of them is done. */
export class SharedSlices {
  #since = performance.now();
  readonly #waiting: (() => void)[] = [];

  /** As `Slices.pause`. */
  pause(): Promise<void> | undefined {
    if (performance.now() - this.#since < SLICE_MS) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#next());
    });
  }

  /** The piece that waits longest has a slice. */
  #next(): void {
    const resolve = this.#waiting.shift()!;
    if (this.#waiting.length > 0) setImmediate(() => this.#next());
    this.#since = performance.now();
    resolve();
  }
}
