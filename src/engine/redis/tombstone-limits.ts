/**
 * The limits for tombstones, and the count of those that were dropped before their retention ended.
 * Tested by redis-merges.spec.ts.
 */
import type { MergeOptions } from '../stored-engine.ts';

export type TombstoneOptions = Pick<
  MergeOptions,
  'tombstoneRetentionMs' | 'tombstonesMax' | 'onTombstonesDropped'
>;

export class TombstoneLimits {
  readonly retentionSeconds: number;
  /** Maximum number of tombstones of a partition. */
  readonly count: number;
  readonly #onDropped: TombstoneOptions['onTombstonesDropped'];
  #droppedCount = 0;

  constructor(options: TombstoneOptions, partitionCount: number) {
    const { tombstoneRetentionMs = 86_400_000, tombstonesMax = 1_000_000 } = options;
    this.retentionSeconds = Math.ceil(tombstoneRetentionMs / 1000);
    this.count = Math.ceil(tombstonesMax / partitionCount);
    this.#onDropped = options.onTombstonesDropped;
  }

  /** Notes that this many were dropped early. */
  drop(count: number): void {
    if (count === 0) return;
    this.#droppedCount += count;
    this.#onDropped?.(this.#droppedCount);
  }
}
