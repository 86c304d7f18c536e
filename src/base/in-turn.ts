/** Runs work that must not overlap: one piece after the other, in the order of the calls. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** Whether any work is under way or waits. */
  get isBusy(): boolean {
    return this.#count > 0;
  }

  /** Runs the work in its turn, and settles as it does. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#count++;
    const result = this.#last.then(work).finally(() => {
      this.#count--;
    });
    this.#last = result.catch(() => {});
    return result;
  }
}
