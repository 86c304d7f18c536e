/**
 * Counts the changes that are not answered, in two eras: those that began before somebody asked when all of
 * them will be answered, and those since.
 */
import type { Clock } from '../../base/clock.ts';
import { InTurn } from '../../base/in-turn.ts';

/** How often it is looked whether any is left. */
const LOOK_MS = 2;

/** An operation of a change. */
interface Counted {
  /** 0 or 1. */
  era: number;
  /** Goes on with a change that another operation has begun, whose era it has. */
  readonly isSequel: boolean;
}

export class ChangesUnderWay {
  readonly #clock: Clock;
  readonly #counts = new Int32Array(2);
  readonly #questions = new InTurn();
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
   * Resolves when all changes that began before are answered. `confirmed` gives a check whether replicas
   * have, or have not, confirmed what was written until then; a sequel may follow.
   */
  async answered(confirmed: () => () => boolean): Promise<void> {
    await this.#questions.run(async () => {
      const era = this.#era;
      this.#era = 1 - era;
      do {
        await this.#until(() => this.#counts[era] === 0);
        await this.#until(confirmed());
      } while (this.#counts[era]! > 0);
    });
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.#clock.after(LOOK_MS, resolve);
      });
    }
  }
}
