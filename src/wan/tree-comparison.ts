/** Compares a map of this member with that of a target. */
import type { Clock } from '../base/clock.ts';
import type { Span } from '../base/span.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import type { Sender } from './batch.ts';
import type { TransportAnswer } from './wan-transport.ts';

/** The member that a map is compared with. */
export interface TreeTarget {
  send(message: Buffer): Promise<TransportAnswer>;
  readonly dataSet: Uint8Array | undefined;
}

export interface Differences {
  readonly checkedPartitions: number;
  readonly differentPartitions: number;
  readonly checkedLeaves: number;
  readonly differentLeaves: number;
  readonly entriesToSync: number;
  has(partition: number, key: Span): boolean;
}

export interface ComparisonParts {
  readonly engine: Pick<StoredEngine, 'partitionCount' | 'visit'>;
  readonly clock: Clock;
  readonly target: TreeTarget;
  readonly sender: Sender;
  readonly clusterName: string;
  readonly isCancelled: () => boolean;
  onPartition(checked: number): void;
}

export async function compareMap(
  _parts: ComparisonParts,
  map: Buffer,
  _depth: number,
): Promise<Differences> {
  throw new Error(`Cannot compare map "${map}"`);
}
