/**
 * Work that may be long, in slices between which the event loop turns, so that others are served
 * meanwhile. A loop asks after each of its steps whether it is time to pause.
 */

/** How long a slice takes, in milliseconds: much less than anybody would notice. */
const SLICE_MS = 5;

export class Slices {
  #since = performance.now();

  /** What to wait for before the next step; undefined where that can be done at once. */
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
