/**
 * Computations on other threads, two at a time. The waiting ones are scheduled round-robin by
 * client, so a client with many computations delays only its own: another client's starts after at
 * most one of each other client. The number of waiting computations is bounded, per client and in
 * total. Tested by authenticator.spec.ts.
 */

/** Number of computations that run at the same time. */
const AT_ONCE = 2;
/** Maximum number of waiting computations of one client. */
const WAITING_MAX = 64;
/** Maximum number of waiting computations of all clients. */
const WAITING_IN_ALL_MAX = 1024;

export class Computations {
  #running = 0;
  #waitingCount = 0;
  /**
   * Functions that start the waiting computations, by client; the first client is the next to run.
   */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Whether one more computation can start or wait. */
  hasRoom(who: string): boolean {
    if (this.#running < AT_ONCE) return true;
    const own = this.#waiting.get(who)?.length ?? 0;
    return own < WAITING_MAX && this.#waitingCount < WAITING_IN_ALL_MAX;
  }

  /**
   * Runs the computation, after those scheduled before it. The promise settles with its result.
   */
  async run<Value>(who: string, compute: () => Promise<Value>): Promise<Value> {
    if (this.#running < AT_ONCE) this.#running += 1;
    else await new Promise<void>((resolve) => this.#wait(who, resolve));
    try {
      return await compute();
    } finally {
      this.#startNext();
    }
  }

  #wait(who: string, begin: () => void): void {
    const own = this.#waiting.get(who);
    if (own === undefined) this.#waiting.set(who, [begin]);
    else own.push(begin);
    this.#waitingCount += 1;
  }

  /** Starts the next computation after one has ended. */
  #startNext(): void {
    for (const [who, own] of this.#waiting) {
      const begin = own.shift();
      this.#waiting.delete(who);
      if (own.length > 0) this.#waiting.set(who, own);
      if (begin === undefined) continue;
      this.#waitingCount -= 1;
      return begin();
    }
    this.#running -= 1;
  }
}
