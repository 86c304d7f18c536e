/**
 * Computations on other threads, two at a time. Waiting ones take turns by client, so a client with
 * many computations delays only its own: another client's starts after at most one of each other
 * client. The number of waiting computations is bounded, for each client and in total.
 */

const AT_ONCE = 2;
/** For one client. */
const WAITING_MAX = 64;
const WAITING_IN_ALL_MAX = 1024;

export class Computations {
  #running = 0;
  #waitingCount = 0;
  /**
   * Functions that start the waiting computations, by client; the client whose turn is next comes
   * first.
   */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Whether one more computation can start or wait. */
  hasRoom(who: string): boolean {
    if (this.#running < AT_ONCE) return true;
    const own = this.#waiting.get(who)?.length ?? 0;
    return own < WAITING_MAX && this.#waitingCount < WAITING_IN_ALL_MAX;
  }

  /** Runs the computation when its turn has come, and settles as it does. */
  async run<Value>(who: string, compute: () => Promise<Value>): Promise<Value> {
    if (this.#running < AT_ONCE) this.#running += 1;
    else await new Promise<void>((resolve) => this.#wait(who, resolve));
    try {
      return await compute();
    } finally {
      this.#goOn();
    }
  }

  #wait(who: string, begin: () => void): void {
    const own = this.#waiting.get(who);
    if (own === undefined) this.#waiting.set(who, [begin]);
    else own.push(begin);
    this.#waitingCount += 1;
  }

  /** Called when a computation has ended: starts the next in turn. */
  #goOn(): void {
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
