/**
 * The contract of queues of changes that outlive the process. Sinks have such queues, for example
 * WAN publishers; persistence stores them. The log records which changes were queued. In addition,
 * persistence stores a *mark* for each queue and partition: every change up to that sequence has
 * left the queue, or need not be in it. If a mark is too low, changes that have already left are
 * queued again; if it is too high, changes are lost. A snapshot replaces the log before it, so the
 * changes that are waiting then are stored with the snapshot.
 *
 * A recovery fills the queues in this order: `beginRestore`; `restore` for the changes stored with
 * the snapshot, then `isRestored`; `replay` for each record of the log, in order. Afterwards
 * `marks` returns the current marks.
 */
import type { Viewed } from '../base/copy-bytes.ts';
import type { Mutation } from './mutation.ts';

export interface DurableQueues {
  /** Returns the current queues. */
  queues(): readonly DurableQueue[];
  /**
   * Registers `onProgress`, which is called when a mark may have risen. It must not call the
   * engine.
   */
  watch(onProgress: () => void): void;
  /** The stored marks cannot be read: every change in the log is queued again. */
  onMarksLost(error: Error): void;
  /**
   * The marks could not be written; the older ones remain in force. Called once until a write
   * succeeds again.
   */
  onMarksFailed(error: Error): void;
}

/** Stores the queues; persistence does. */
export interface QueueStore {
  /** Whether no change of this turn may leave a queue: none of them is written yet. */
  readonly delaysAll: boolean;
  /** Resolves once the current state of the queues would survive a crash. Rejects with the disk's error. */
  keepQueues(): Promise<void>;
  /** Empties a queue durably. On a disk error it rejects and leaves the queue unchanged. */
  clearQueue(queue: DurableQueue): Promise<void>;
}

export interface DurableQueue {
  /** The queue's unique name, which is the same after a restart. */
  readonly name: string;
  /** Size of the waiting changes, in bytes. */
  readonly bytes: number;
  /**
   * Whether the marks count only changes that have left the queue, and no change that a later one
   * has replaced in it. Then a change up to its mark is at its destination, even if a power loss
   * destroys the later one.
   */
  readonly hasExactMarks: boolean;
  /** Number of lanes that hold the waiting changes, each in its own order. */
  readonly laneCount: number;

  /**
   * Returns the mark of each partition, given the partitions' sequences as StoredEngine.sequences
   * returns them now. Not called from inside a call of the engine.
   */
  marks(sequences: Float64Array): Float64Array;
  /**
   * Returns a function that drops the changes waiting up to these sequences, which are the current
   * ones. It is called once it is stored that none of these changes waits.
   */
  clearing(sequences: Float64Array): () => void;
  /** Whether a change with this sequence may be waiting; EVERY_PARTITION: in any partition. */
  mayWait(partition: number, sequence: number): boolean;
  /**
   * Returns the changes waiting in the lane now, and the lane's partitions. The content does not
   * change afterwards, except that changes which leave the queue meanwhile may be omitted.
   */
  cut(lane: number): LaneContent;

  /**
   * Empties the queue for a recovery. If `marks` is undefined, nothing was stored for the queue: it
   * stays empty and ignores the following calls.
   */
  beginRestore(marks: Float64Array | undefined): void;
  /**
   * Queues the output of one `copy` of a lane: the bytes from `start` to `end`, which are read
   * during the call. Returns false if they are damaged.
   */
  restore(lane: number, bytes: Buffer, start: number, end: number): boolean;
  /**
   * The stored changes are complete: they include all that waited up to this sequence of each
   * partition.
   */
  isRestored(queuedUpTo: Float64Array): void;
  /** Processes a record of the log. */
  replay(change: Mutation): void;
}

/** The changes waiting in a lane of a queue. */
interface LaneContent {
  /** Numbers of the partitions whose changes are in the lane. */
  readonly partitions: readonly number[];
  /** Whether everything has been copied. */
  readonly isDone: boolean;
  /**
   * Number of bytes that the next `copy` needs, if the last one had too little room; otherwise 0.
   */
  readonly bytesNeeded: number;
  /**
   * Copies the next changes to `at`, as far as they fit before `end`. Returns the offset after the
   * last byte. Runs for at most one millisecond per 256 KiB, and may copy nothing before it is
   * done.
   */
  copy(to: Viewed, at: number, end: number): number;
}
