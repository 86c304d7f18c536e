/**
 * Stores the marks of persistent queues (../engine/durable-queues.ts). While they change they are
 * written durably at most once a second, and also on request. In between they are written, at most
 * every 50 ms, to a file that is not synced, so that little is lost if the process ends.
 *
 * Before marks are written, the log is synced up to them: if a change in a queue was replaced by a
 * later change of its key, the mark passes over it, so the later change must not be lost. Marks
 * that need this are written only with a sync. If writing fails, the older marks, which are lower,
 * remain valid, and writing is retried. Tested by wan/persistent-queues.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { SerialQueue } from '../base/serial-queue.ts';
import type { DurableQueue, DurableQueues } from '../engine/durable-queues.ts';
import { writeMarks, writeUnsyncedMarks } from './marks-file.ts';
import type { Storage } from './storage.ts';

/** Minimum interval between two durable writes, in ms. */
const PERIOD_MS = 1000;
/** Minimum interval between two unsynced writes, in ms. */
const UNSYNCED_PERIOD_MS = 50;

interface MarksWriterParts {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly queues: DurableQueues;
  /** Returns the current last sequence of each partition. */
  sequences(): Float64Array;
  /** Makes the log durable, if its sync mode promises durability. */
  syncLog(): Promise<void>;
  /** Whether the manifest records that marks exist. */
  isRecorded(): boolean;
  /** Records in the manifest that marks exist, unless it already does. */
  record(): Promise<void>;
}

export class MarksWriter {
  readonly #parts: MarksWriterParts;
  readonly #writes = new SerialQueue();
  readonly #unsyncedWrites = new SerialQueue();
  #timer: Timer | undefined;
  #unsyncedTimer: Timer | undefined;
  #hasFailed = false;
  #isOpen = false;

  constructor(parts: MarksWriterParts) {
    this.#parts = parts;
  }

  /** Starts to write the marks when they change. */
  begin(): void {
    this.#isOpen = true;
    this.#parts.queues.watch(() => this.#schedule());
  }

  /** Whether there are queues, and therefore marks. */
  get hasQueues(): boolean {
    return this.#parts.queues.queues().length > 0;
  }

  /**
   * Writes the current marks, if there are queues. The queue `cleared` is emptied, unless writing
   * fails. Rejects as writeAtomically does.
   */
  async write(cleared?: DurableQueue): Promise<void> {
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
      // The queue must be emptied before any other marks are written.
      clear?.();
    });
  }

  /**
   * Writes the current marks and records them in the manifest, so that a start uses them. Rejects
   * as writeAtomically does.
   */
  async store(): Promise<void> {
    if (!this.hasQueues) return;
    try {
      await this.write();
      await this.#parts.record();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#parts.queues.onMarksFailed(error as Error);
      this.#hasFailed = true;
      this.#schedule();
      throw error;
    }
  }

  /** Empties the queue. If it rejects, as writeAtomically does, the queue is unchanged. */
  async clear(queue: DurableQueue): Promise<void> {
    // This makes a start use the marks, and shows that the next write will most likely succeed.
    await this.store();
    await this.write(queue);
  }

  /** Stops writing, except by `store`. Resolves when no write is running. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#timer?.cancel();
    this.#unsyncedTimer?.cancel();
    await this.#unsyncedWrites.run(async () => {});
    await this.#writes.run(async () => {});
  }

  #schedule(): void {
    if (!this.#isOpen) return;
    this.#scheduleUnsynced();
    this.#timer ??= this.#parts.clock.after(PERIOD_MS, () => {
      this.#timer = undefined;
      this.store().catch(isAlreadyLogged);
    });
  }

  #scheduleUnsynced(): void {
    this.#unsyncedTimer ??= this.#parts.clock.after(UNSYNCED_PERIOD_MS, () => {
      this.#unsyncedTimer = undefined;
      if (this.#unsyncedWrites.isBusy) return this.#scheduleUnsynced();
      this.#unsyncedWrites.run(() => this.#writeUnsynced()).catch(retriedLater);
    });
  }

  async #writeUnsynced(): Promise<void> {
    const { storage, queues, sequences, isRecorded } = this.#parts;
    const exact = queues.queues().filter(({ hasExactMarks }) => hasExactMarks);
    if (exact.length === 0 || !isRecorded()) return;
    const now = sequences();
    const marks = new Map(exact.map((queue) => [queue.name, queue.marks(now)]));
    await writeUnsyncedMarks(storage, now.length, marks);
  }
}

/** The failure has been logged, and writing is retried. */
function isAlreadyLogged(): void {}

/** The older marks remain valid until the next write. */
function retriedLater(): void {}
