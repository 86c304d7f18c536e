/**
 * Counts changes without a result in two eras: those begun before the last call of `answered`, and
 * those begun since. Tested by lost-connections.spec.ts.
 */
import type { Clock } from '../../base/clock.ts';
import { SerialQueue } from '../../base/serial-queue.ts';

/** Delay between two checks whether any change remains, in ms. */
const CHECK_MS = 2;

/** An operation of a change. */
interface Counted {
  /** 0 or 1. */
  era: number;
  /**
   * Whether it continues a change that another operation began. It then has the era of that
   * operation.
   */
  readonly isSequel: boolean;
}

export class PendingChanges {
  readonly #clock: Clock;
  readonly #counts = new Int32Array(2);
  readonly #calls = new SerialQueue();
  #era = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  enter(operation: Counted): void {
    if (!operation.isSequel) operation.era = this.#era;
    this.#counts[operation.era]!++;
  }

  leave(operation: Counted): void {
    this.#counts[operation.era]!--;
  }

  /**
   * Resolves when all changes begun before the call have results. `confirmed` returns a check
   * whether the replicas have confirmed the changes written so far, or will not. A sequel may be
   * sent after that, so both are repeated.
   */
  async answered(confirmed: () => () => boolean): Promise<void> {
    await this.#calls.run(async () => {
      const era = this.#era;
      this.#era = 1 - era;
      do {
        await this.#until(() => this.#counts[era] === 0);
        await this.#until(confirmed());
      } while (this.#counts[era]! > 0);
    });
  }

  async #until(isMet: () => boolean): Promise<void> {
    while (!isMet()) {
      await new Promise<void>((resolve) => {
        this.#clock.after(CHECK_MS, resolve);
      });
    }
  }
}
