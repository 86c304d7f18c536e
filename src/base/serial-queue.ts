/**
 * Runs asynchronous work that must not overlap: one call after the other, in the order of the
 * calls. Tested by persistence/disk-faults.spec.ts.
 */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** Whether any work is running or waiting. */
  get isBusy(): boolean {
    return this.#count > 0;
  }

  /** Runs the work after all earlier calls. The promise settles with its result. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#count++;
    const result = this.#last.then(work).finally(() => {
      this.#count--;
    });
    this.#last = result.catch(() => {});
    return result;
  }
}
