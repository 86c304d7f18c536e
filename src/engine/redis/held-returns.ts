/**
 * Returns what members held that are gone: the store lists them until their items are back. The member that
 * joined first does it, with a beat; where that fails, the next beat asks again.
 */
interface HeldReturnsOptions {
  /** The member incarnations that are gone. */
  gone(): Promise<readonly string[]>;
  /** Resolves once the incarnation holds nothing; may be called again. */
  returnHeld(incarnation: string): Promise<unknown>;
  /** The incarnation holds nothing. */
  forget(incarnation: string): Promise<void>;
}

export class HeldReturns {
  readonly #options: HeldReturnsOptions;
  #isRunning = false;

  constructor(options: HeldReturnsOptions) {
    this.#options = options;
  }

  /** Does nothing while it is under way. */
  begin(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#returnAll().finally(() => {
      this.#isRunning = false;
    });
  }

  async #returnAll(): Promise<void> {
    const { gone, returnHeld, forget } = this.#options;
    try {
      for (const incarnation of await gone()) {
        await returnHeld(incarnation);
        await forget(incarnation);
      }
    } catch {
      // The list still has it.
    }
  }
}
