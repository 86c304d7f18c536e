/**
 * Steps on partitions of servers, for the senders of all publishers. Partitions whose servers do not
 * respond delay no others: after STEP_MS_MAX they are stuck, and steps on them fail at once, until
 * their servers respond to a probe. Tested by partition-steps.spec.ts.
 */
import type { Clock } from '../base/clock.ts';

/** Time after which the caller of a step no longer waits for it, in ms. */
const STEP_MS_MAX = 1000;
/** Delay between two probes of a partition that is stuck, in ms. */
const PROBE_MS = 500;
/** Maximum number of reads at the same time: each may return a long value. */
const READS_AT_ONCE = 8;

/** Resolves with undefined if the servers did not do it. Never rejects. */
type Step<Result> = () => Promise<Result | undefined>;

export class PartitionSteps {
  readonly #clock: Clock;
  readonly #probe: (partition: number) => Promise<unknown>;
  readonly #stuck = new Set<number>();
  readonly #probed = new Set<number>();
  #readCount = 0;
  readonly #readers: (() => void)[] = [];
  #isClosed = false;

  /** `probe` makes a short step; it resolves with undefined if the servers did not respond. */
  constructor(clock: Clock, probe: (partition: number) => Promise<unknown>) {
    this.#clock = clock;
    this.#probe = probe;
  }

  /**
   * Makes the step. Resolves with its result, or with undefined if it has failed, takes too long, or
   * the partition is stuck. A step that takes too long may still be done.
   */
  run<Result>(partition: number, step: Step<Result>): Promise<Result | undefined> {
    if (this.#stuck.has(partition)) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      let isLate = false;
      const timer = this.#clock.after(STEP_MS_MAX, () => {
        isLate = true;
        this.#stuck.add(partition);
        resolve(undefined);
      });
      void step().then((result) => {
        timer.cancel();
        if (isLate) void this.#onLate(partition, result !== undefined);
        resolve(result);
      });
    });
  }

  /** Makes a step that may return a long value, like `run`, when few others are in progress. */
  async read<Result>(partition: number, step: Step<Result>): Promise<Result | undefined> {
    while (this.#readCount >= READS_AT_ONCE) {
      await new Promise<void>((resolve) => void this.#readers.push(resolve));
    }
    this.#readCount++;
    const result = await this.run(partition, step);
    this.#readCount--;
    this.#readers.shift()?.();
    return result;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Called when the end of a late step is known. */
  async #onLate(partition: number, isDone: boolean): Promise<void> {
    if (this.#probed.has(partition)) return;
    this.#probed.add(partition);
    for (let responds = isDone; !responds && !this.#isClosed; ) {
      await new Promise<void>((resolve) => void this.#clock.after(PROBE_MS, resolve));
      responds = (await this.#probe(partition)) !== undefined;
    }
    this.#probed.delete(partition);
    this.#stuck.delete(partition);
  }
}
