/**
 * Computations on other threads, two at a time. Those that wait take turns by who asks for them, so
 * whoever asks for many waits for them alone: anybody else's is begun after one of each other's. How
 * many may wait is bounded, for each who asks and in all.
 */

const AT_ONCE = 2;
/** Of one who asks. */
export const WAITING_MAX = 64;
const WAITING_IN_ALL_MAX = 1024;

export class Computations {
  #running = 0;
  #waitingCount = 0;
  /** What begins those that wait, by who asks; whose turn is next first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Whether one more can be begun, or wait. */
  hasRoom(who: string): boolean {
    if (this.#running < AT_ONCE) return true;
    const own = this.#waiting.get(who)?.length ?? 0;
    return own < WAITING_MAX && this.#waitingCount < WAITING_IN_ALL_MAX;
  }

  /** Resolves as the computation does, once its turn has come. */
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

  /** One has ended: its place goes to the next in turn. */
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
