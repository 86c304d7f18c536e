/**
 * Keeps the marks of queues on the disk (../engine/kept-queues.ts): writes them at most once a second while
 * they change, and whenever they are asked for. Between these, so that the end of the process loses little
 * of them, they are written at most every 50 ms to a file that is not synced. The log is durable as far as
 * they tell before they are: a change that a later one of its key has replaced in a queue counts as passed,
 * and the later one may not be lost then. Such marks are not written without a sync. Where writing fails the
 * older marks count, which are lower, and it is tried again.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { InTurn } from '../base/in-turn.ts';
import type { KeptQueue, KeptQueues } from '../engine/kept-queues.ts';
import { writeMarks, writeUnsyncedMarks } from './marks-file.ts';
import type { Storage } from './storage.ts';

const PERIOD_MS = 1000;
const UNSYNCED_PERIOD_MS = 50;

interface MarksKeeperParts {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly queues: KeptQueues;
  /** The last sequence of each partition now. */
  sequences(): Float64Array;
  /** Makes the log durable, where its mode promises that. */
  syncLog(): Promise<void>;
  /** Whether the manifest has it that there are marks. */
  isNoted(): boolean;
  /** Notes in the manifest that there are marks, where that is not noted. */
  note(): Promise<void>;
}

export class MarksKeeper {
  readonly #parts: MarksKeeperParts;
  readonly #writes = new InTurn();
  readonly #unsyncedWrites = new InTurn();
  #timer: Timer | undefined;
  #unsyncedTimer: Timer | undefined;
  #hasFailed = false;
  #isOpen = false;

  constructor(parts: MarksKeeperParts) {
    this.#parts = parts;
  }

  /** From now on the marks are written when they change. */
  begin(): void {
    this.#isOpen = true;
    this.#parts.queues.watch(() => this.#plan());
  }

  /** Whether there are queues, and so marks. */
  get hasQueues(): boolean {
    return this.#parts.queues.queues().length > 0;
  }

  /**
   * Writes the marks of this moment, if there are queues. A queue that is `cleared` loses what waits in it,
   * unless that fails. Rejects as writeWhole does.
   */
  async write(cleared?: KeptQueue): Promise<void> {
    const { storage, queues, sequences, syncLog } = this.#parts;
    await this.#writes.run(async () => {
      const all = queues.queues();
      if (all.length === 0) return;
      const now = sequences();
      const marks = new Map(
        all.map((queue) => [queue.name, queue === cleared ? now : queue.marks(now)]),
      );
      const clear = cleared?.clearing(now);
      await syncLog();
      await writeMarks(storage, now.length, marks);
      // Before any other marks are written.
      clear?.();
    });
  }

  /** Writes the marks of this moment, so that a start counts them. Rejects as writeWhole does. */
  async keep(): Promise<void> {
    if (!this.hasQueues) return;
    try {
      await this.write();
      await this.#parts.note();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#parts.queues.onMarksFailed(error as Error);
      this.#hasFailed = true;
      this.#plan();
      throw error;
    }
  }

  /** Empties the queue. Rejects as writeWhole does, and the queue is as before. */
  async clear(queue: KeptQueue): Promise<void> {
    // From then on a start counts marks, and the next ones most likely can be written.
    await this.keep();
    await this.write(queue);
  }

  /** Nothing is written any more, unless by `keep`. Resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#timer?.cancel();
    this.#unsyncedTimer?.cancel();
    await this.#unsyncedWrites.run(async () => {});
    await this.#writes.run(async () => {});
  }

  #plan(): void {
    if (!this.#isOpen) return;
    this.#planUnsynced();
    this.#timer ??= this.#parts.clock.after(PERIOD_MS, () => {
      this.#timer = undefined;
      this.keep().catch(told);
    });
  }

  #planUnsynced(): void {
    this.#unsyncedTimer ??= this.#parts.clock.after(UNSYNCED_PERIOD_MS, () => {
      this.#unsyncedTimer = undefined;
      if (this.#unsyncedWrites.isBusy) return this.#planUnsynced();
      this.#unsyncedWrites.run(() => this.#writeUnsynced()).catch(isWrittenLater);
    });
  }

  async #writeUnsynced(): Promise<void> {
    const { storage, queues, sequences, isNoted } = this.#parts;
    const exact = queues.queues().filter(({ hasExactMarks }) => hasExactMarks);
    if (exact.length === 0 || !isNoted()) return;
    const now = sequences();
    const marks = new Map(exact.map((queue) => [queue.name, queue.marks(now)]));
    await writeUnsyncedMarks(storage, now.length, marks);
  }
}

/** The log has the failure, and the marks are written again. */
function told(): void {}

/** Older marks count until they are written again. */
function isWrittenLater(): void {}
