/**
 * Returns the items that former members held. The store lists these members until their items are
 * returned. Commands that they sent are ended first. The oldest member does this with its
 * heartbeat; if it fails, the next heartbeat tries again. Tested by redis-membership-store.spec.ts.
 */
import type { Clock } from '../../base/clock.ts';
import { OUT_SECONDS } from './queue-scripts.ts';

const HOUR_MS = 3_600_000;
/** Minimum time for which the marks of a former member are retained, in seconds. */
const OUT_SECONDS_MIN = 60;

interface DepartedMembersOptions {
  readonly clock: Clock;
  /** Returns the former members as UUID:NUMBER. */
  gone(): Promise<readonly string[]>;
  /** Resolves when no command that these processes sent can take effect any more. */
  endChangesOf(uuids: ReadonlySet<string>): Promise<void>;
  /**
   * Resolves when the member holds no items; repeatable. Its marks are retained for `outSeconds`.
   */
  returnHeld(incarnation: string, outSeconds: number): Promise<unknown>;
  /** Removes a member that holds no items from the list. */
  forget(incarnation: string): Promise<void>;
}

export class DepartedMembers {
  readonly #options: DepartedMembersOptions;
  /** Times of the returns within the last hour, by `clock.now()`. */
  #times: number[] = [];
  #isRunning = false;

  constructor(options: DepartedMembersOptions) {
    this.#options = options;
  }

  /** Starts a run unless one is under way. `present`: the uuids of the current members. */
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
      // The list still contains the member.
    }
  }

  /**
   * Returns how long marks are retained: shorter the more members were removed, which bounds their
   * total.
   */
  #outSeconds(): number {
    const now = this.#options.clock.now();
    this.#times = this.#times.filter((time) => now - time < HOUR_MS);
    this.#times.push(now);
    return Math.max(OUT_SECONDS_MIN, Math.floor(OUT_SECONDS / this.#times.length));
  }
}
