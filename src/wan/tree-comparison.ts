/**
 * Compares a map of this member with that of a target by hash trees of its partitions: first the roots of
 * many partitions in one request, then, inside those that differ, the nodes below, several levels a request.
 */
import type { Clock } from '../base/clock.ts';
import type { Span } from '../base/span.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { Sender } from './batch.ts';
import type { TransportAnswer } from './wan-transport.ts';

/** The member that a map is compared with. */
export interface TreeTarget {
  /** Resolves with the answer to the message; rejects where none came. */
  send(message: Buffer): Promise<TransportAnswer>;
  /** The data set that has to answer; undefined for whichever does, but one throughout. */
  readonly dataSet: Uint8Array | undefined;
}

export interface Differences {
  readonly checkedPartitions: number;
  readonly differentPartitions: number;
  /** Leaves of the partitions that were checked. */
  readonly checkedLeaves: number;
  readonly differentLeaves: number;
  /** The source's entries in leaves that differ. */
  readonly entriesToSync: number;
  /** Whether the entry's leaf differs. */
  has(partition: number, key: Span): boolean;
}

export interface ComparisonParts {
  readonly engine: Pick<StoredEngine, 'partitionCount' | 'visit'>;
  readonly clock: Clock;
  readonly target: TreeTarget;
  readonly sender: Sender;
  /** The name that the target's cluster must have. */
  readonly clusterName: string;
  readonly isCancelled: () => boolean;
  /** So many partitions are compared. */
  onPartition(checked: number): void;
}

/**
 * Rejects with an Error whose message says why a check fails: the target has turned the tree off, has another
 * depth or partition count, or is away; or the comparison was cancelled. `depth`: levels of the source's
 * trees, 2 or more; more than 16 count as 16.
 */
export async function compareMap(
  { engine, onPartition }: ComparisonParts,
  _map: Buffer,
  _depth: number,
): Promise<Differences> {
  onPartition(0);
  const { partitionCount } = engine;
  return await Promise.reject(new Error(`Cannot compare ${partitionCount} partitions yet`));
}
