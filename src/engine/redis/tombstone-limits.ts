/**
 * The limits for tombstones, and the count of those that were dropped before their retention ended.
 * While there are publishers, changes drop none, because a script of a change does not have the marks of
 * all publishers: a removal that waits would be lost. Then only TRIM_TOMBSTONES drops them.
 * Tested by redis-merges.spec.ts.
 */
import type { MergeOptions } from '../stored-engine.ts';
import type { Marking } from './marking.ts';

export type TombstoneOptions = Pick<
  MergeOptions,
  'tombstoneRetentionMs' | 'tombstonesMax' | 'onTombstonesDropped'
>;

/** Limits for the tombstones of a partition. */
interface Limits {
  readonly retentionSeconds: number;
  readonly count: number;
}

const NONE: Limits = { retentionSeconds: 2 ** 32, count: 2 ** 32 };

export class TombstoneLimits {
  readonly ofTrims: Limits;
  readonly #marking: Pick<Marking, 'publishers'>;
  readonly #onDropped: TombstoneOptions['onTombstonesDropped'];
  #droppedCount = 0;

  constructor(
    options: TombstoneOptions,
    partitionCount: number,
    marking: Pick<Marking, 'publishers'>,
  ) {
    const { tombstoneRetentionMs = 86_400_000, tombstonesMax = 1_000_000 } = options;
    this.ofTrims = {
      retentionSeconds: Math.ceil(tombstoneRetentionMs / 1000),
      count: Math.ceil(tombstonesMax / partitionCount),
    };
    this.#marking = marking;
    this.#onDropped = options.onTombstonesDropped;
  }

  get ofChanges(): Limits {
    return this.#marking.publishers.length === 0 ? this.ofTrims : NONE;
  }

  /** Notes that this many were dropped early. */
  drop(count: number): void {
    if (count === 0) return;
    this.#droppedCount += count;
    this.#onDropped?.(this.#droppedCount);
  }
}
