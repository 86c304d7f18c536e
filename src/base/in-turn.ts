/** Work that must not overlap: one piece after the other, in the order asked for. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** Whether any is under way or waits. */
  get isBusy(): boolean {
    return this.#count > 0;
  }

  /** Settles as the work does. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#count++;
    const result = this.#last.then(work).finally(() => {
      this.#count--;
    });
    this.#last = result.catch(() => {});
    return result;
  }
}
