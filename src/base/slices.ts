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
