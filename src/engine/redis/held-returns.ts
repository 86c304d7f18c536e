/**
 * Returns the items that former members held: the store lists these members until their items are back. What
 * they had sent is ended first. The member that joined first does it, with a beat; where that fails, the
 * next beat asks again.
 */
import type { Clock } from '../../base/clock.ts';
import { OUT_SECONDS } from './queue-scripts.ts';

const HOUR_MS = 3_600_000;
/** The marks of a former member stay for this time at least. */
const OUT_SECONDS_MIN = 60;

interface HeldReturnsOptions {
  readonly clock: Clock;
  /** The former members, as UUID:NUMBER. */
  gone(): Promise<readonly string[]>;
  /** Resolves once nothing takes effect that these processes have sent. */
  endChangesOf(uuids: ReadonlySet<string>): Promise<void>;
  /** Resolves once the member holds nothing; may be called again. Its marks stay for some seconds. */
  returnHeld(incarnation: string, outSeconds: number): Promise<unknown>;
  /** The member holds nothing. */
  forget(incarnation: string): Promise<void>;
}

export class HeldReturns {
  readonly #options: HeldReturnsOptions;
  /** When items were returned within the last hour, on the clock's `now`. */
  #times: number[] = [];
  #isRunning = false;

  constructor(options: HeldReturnsOptions) {
    this.#options = options;
  }

  /** Does nothing while it is under way. `present`: the uuids of the members. */
  begin(present: ReadonlySet<string>): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#returnAll(present).finally(() => {
      this.#isRunning = false;
    });
  }

  async #returnAll(present: ReadonlySet<string>): Promise<void> {
    const { gone, endChangesOf, returnHeld, forget } = this.#options;
    try {
      const former = await gone();
      const uuids = former.map((incarnation) => incarnation.slice(0, incarnation.lastIndexOf(':')));
      await endChangesOf(new Set(uuids.filter((uuid) => !present.has(uuid))));
      for (const incarnation of former) {
        await returnHeld(incarnation, this.#outSeconds());
        await forget(incarnation);
      }
    } catch {
      // The list still has it.
    }
  }

  /** The more members go, the shorter, so that their marks together are bounded. */
  #outSeconds(): number {
    const now = this.#options.clock.now();
    this.#times = this.#times.filter((time) => now - time < HOUR_MS);
    this.#times.push(now);
    return Math.max(OUT_SECONDS_MIN, Math.floor(OUT_SECONDS / this.#times.length));
  }
}
