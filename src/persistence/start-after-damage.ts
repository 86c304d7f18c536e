/**
 * A start on damaged data. It waits until an operator calls for a start without data or with the
 * readable data. Nothing on the disk changes before that call.
 */
import type { Clock } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Finding } from './findings.ts';
import { type ForcedStart, startEmpty, startPartial } from './forced-start.ts';
import type { Storage } from './storage.ts';

export type Start = 'forceStart' | 'partialStart';

interface StartAfterDamageOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly partitionCount: number;
  /** The setting cluster-data-recovery-policy. */
  readonly policy: string;
  /** The starts that the policy allows. */
  readonly allowed: readonly Start[];
  /** Receives each fault found in the data. */
  onFinding(finding: Finding): void;
  /** Called when the files are ready to be opened. */
  onForced(start: Start, forced: ForcedStart): void;
}

interface StartCall {
  readonly start: Start;
  readonly resolve: () => void;
  readonly reject: (error: GridError) => void;
}

export class StartAfterDamage {
  readonly #options: StartAfterDamageOptions;
  /** Accepts a call; defined only while the start waits for one. */
  #decide: ((call: StartCall) => void) | undefined;
  /** The call that is being executed. */
  #call: StartCall | undefined;

  constructor(options: StartAfterDamageOptions) {
    this.#options = options;
  }

  /** Waits until a call succeeds; the data can then be opened again. `because`: the damage. */
  async wait(because: Error): Promise<void> {
    this.end(because);
    for (;;) {
      const call = await new Promise<StartCall>((resolve) => {
        this.#decide = resolve;
      });
      this.#call = call;
      try {
        this.#options.onForced(call.start, await this.#force(call.start));
        return;
      } catch (error) {
        this.end(error as Error);
      }
    }
  }

  /**
   * Resolves once the member serves requests. Rejects with GridError START_NOT_AWAITED,
   * START_NOT_ALLOWED or START_FAILED; after START_FAILED the start waits for the next call.
   */
  async ask(start: Start): Promise<void> {
    const { policy, allowed } = this.#options;
    const decide = this.#decide;
    if (decide === undefined) throw new GridError('START_NOT_AWAITED', { start });
    if (!allowed.includes(start)) throw new GridError('START_NOT_ALLOWED', { start, policy });
    this.#decide = undefined;
    await new Promise<void>((resolve, reject) => decide({ start, resolve, reject }));
  }

  /**
   * Settles the current call: without `failure` the member serves requests, else the start has
   * failed.
   */
  end(failure?: Error): void {
    const call = this.#call;
    this.#call = undefined;
    if (call === undefined) return;
    if (failure === undefined) return call.resolve();
    const values = { start: call.start, reason: failure.message };
    call.reject(new GridError('START_FAILED', values, { cause: failure }));
  }

  async #force(start: Start): Promise<ForcedStart> {
    const { storage, clock, partitionCount, onFinding } = this.#options;
    const work = start === 'forceStart' ? startEmpty : startPartial;
    return await work({
      storage,
      partitionCount,
      onFinding,
      now: () => clock.now(),
      yieldToEventLoop: () => new Promise((resolve) => clock.endOfTurn(resolve)),
    });
  }
}
