/**
 * The contract of queues of changes that outlive the process: sinks have them, as publishers of WAN
 * replication do, and persistence keeps them. The log is the record of what was queued. Beside it persistence
 * keeps, by queue and partition, the *mark*: every change up to that sequence has left the queue, or need not
 * be in it. A mark that is too low queues again what has left already; one that is too high loses changes.
 * A snapshot replaces the log before it, so what waits then is kept with the snapshot.
 *
 * A recovery fills the queues: `beginRestore`; `restore` for what was kept with the snapshot, then
 * `isRestored`; `replay` for each record of the log, in order; and in the end the marks are as `marks` tells.
 */
import type { Mutation } from './mutation.ts';

export interface KeptQueues {
  /** The queues that there are now. */
  queues(): readonly KeptQueue[];
  /** From now on `onProgress`, which must not call the engine, is called when a mark may have risen. */
  watch(onProgress: () => void): void;
  /** The marks that were kept cannot be read: all that the log has is queued again. */
  onMarksLost(error: Error): void;
  /** The marks could not be written; the older ones count. Called once until they are written again. */
  onMarksFailed(error: Error): void;
}

export interface KeptQueue {
  /** The same over restarts; no other queue has it. */
  readonly name: string;
  /** Bytes of what waits. */
  readonly bytes: number;
  /**
   * Whether its marks count what has left the queue, and nothing that a later change has replaced in it. Then
   * a change up to its mark is at its destination, also where a power loss takes the later one.
   */
  readonly hasExactMarks: boolean;
  /** What waits lies in that many lanes, each in its order. */
  readonly laneCount: number;

  /**
   * The mark of each partition, whose sequence is in `sequences`, as StoredEngine.sequences has them now. Not
   * called from inside a call of the engine.
   */
  marks(sequences: Float64Array): Float64Array;
  /**
   * The function that is returned drops what waits up to these sequences, which are those of now: called once
   * it is kept that nothing of it waits.
   */
  clearing(sequences: Float64Array): () => void;
  /** Whether a change of that sequence may wait; EVERY_PARTITION: in any partition. */
  mayWait(partition: number, sequence: number): boolean;
  /**
   * What waits in the lane now, and the partitions of the lane. It does not change afterwards, but that what
   * leaves the queue meanwhile may be left out.
   */
  cut(lane: number): LaneContent;

  /**
   * Empties the queue for a recovery. Of a queue without marks nothing was kept: it stays empty, and ignores
   * the following calls.
   */
  beginRestore(marks: Float64Array | undefined): void;
  /**
   * Queues what one `copy` of a lane gave: the bytes from `start` to `end`, which are read during the call.
   * False where they are not as they were given.
   */
  restore(lane: number, bytes: Buffer, start: number, end: number): boolean;
  /** What was kept is whole: it has what waited up to that sequence of each partition. */
  isRestored(queuedUpTo: Float64Array): void;
  /** A record of the log. */
  replay(change: Mutation): void;
}

/** What waits in a lane of a queue. */
interface LaneContent {
  /** Numbers of the partitions whose changes are in the lane. */
  readonly partitions: readonly number[];
  /** Whether everything was copied. */
  readonly isDone: boolean;
  /** Bytes that the next `copy` needs, where the last one had no room; otherwise 0. */
  readonly bytesNeeded: number;
  /**
   * Copies what follows to `at`, as far as it ends by `end`. Returns the offset behind. Takes a millisecond
   * at most for 256 KiB, and may copy nothing before it is done.
   */
  copy(to: Buffer, at: number, end: number): number;
}
