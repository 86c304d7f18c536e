/**
 * Applies sections to the engine of a member that stores its own data, event by event, in slices. An
 * event whose path contains this data set is ignored. A change that is already present here is still
 * passed to this member's own publishers: after a crash between the merge and their queues they would
 * otherwise miss it. Tested by publisher.spec.ts.
 */
import { EVERY_PARTITION } from '../base/partition-number.ts';
import type { SharedSlices } from '../base/slices.ts';
import { hasDataSet, policyAt } from '../engine/change-codec.ts';
import {
  APPLIED,
  KNOWN,
  MEMORY_FULL,
  type OperationResult,
  OUTDATED,
  REFUSED,
  type Receiver,
} from '../engine/engine.ts';
import type { MergePolicy } from '../engine/merge-policy.ts';
import { CLEAR, FROM_SOURCE, Mutation, makerOf } from '../engine/mutation.ts';
import type { Version } from '../engine/version.ts';
import { readEvent } from './event-codec.ts';
import { numberAt } from './received-batch.ts';
import { ReceivedPath } from './received-path.ts';
import {
  ALL_APPLIED,
  ENGINE_CLOSED,
  NO_DISK,
  NO_MEMORY,
  PASSIVE,
  type SectionApplier,
  type SectionOutcome,
  type SectionWork,
} from './section-applier.ts';
import type { WanEngine } from './wan-engine.ts';

export interface StoredSectionsParts {
  readonly engine: WanEngine;
  readonly dataSetId: Buffer;
  /** Whether the cluster's state permits changes; it may change while a batch is applied. */
  readonly acceptsWrites: () => boolean;
  /** Called if a merged change was already present, with the partition and sequence to wait for. */
  readonly onKnown: (change: Mutation) => void;
}

export class StoredSections implements SectionApplier, Receiver {
  readonly countsReads = true;
  readonly acknowledgesOnReceipt = true;
  readonly #parts: StoredSectionsParts;
  readonly #slices: SharedSlices;
  readonly #change = new Mutation();
  readonly #path = new ReceivedPath();
  /** The result of the current merge. */
  #reason = ALL_APPLIED;
  #isKnown = false;
  #isOutdated = false;
  /** This data set as a maker of versions. */
  readonly #own: number;

  /** `slices`: shared by all batches that are being applied. */
  constructor(parts: StoredSectionsParts, slices: SharedSlices) {
    this.#parts = parts;
    this.#slices = slices;
    this.#own = makerOf(parts.dataSetId);
  }

  observe(version: Version): void {
    this.#parts.engine.observe(version);
  }

  now(version: Version): void {
    this.#parts.engine.now(version);
  }

  async apply(work: SectionWork): Promise<SectionOutcome> {
    const { sender, section, lane, isOnReceipt } = work;
    const { payload } = work.batch;
    const { numbersAt, count, syncBegan, start, end } = section;
    let at = start;
    for (let index = 0; index < count; index++) {
      // The source may have begun a new epoch during the pause.
      const pause = index % 16 === 15 ? this.#slices.pause() : undefined;
      if (pause !== undefined) await pause;
      work.assertCurrent();
      // Batches acknowledged on receipt were accepted before.
      if (!isOnReceipt && !this.#parts.acceptsWrites()) return { done: index, reason: PASSIVE };
      const policy = policyAt(payload.bytes, at) as MergePolicy;
      const change = this.#change;
      at = readEvent(payload, at, end, change);
      const number = numberAt(payload.view, numbersAt, index);
      if (number <= lane.lastNumber) continue;
      if (work.faultOf(change) === undefined) {
        const reason = this.#merge(change, policy, sender, syncBegan);
        if (reason !== ALL_APPLIED) return { done: index, reason };
        if (this.#isOutdated && !syncBegan.isNone) lane.notTaken++;
      } else lane.rejected++;
      lane.lastNumber = number;
    }
    return { done: count, reason: ALL_APPLIED };
  }

  onResult({ outcome, partition, sequence }: OperationResult): void {
    this.#isKnown = outcome === KNOWN;
    this.#isOutdated = outcome === OUTDATED;
    if (outcome === APPLIED || outcome === OUTDATED) this.#reason = ALL_APPLIED;
    else if (outcome === MEMORY_FULL) this.#reason = NO_MEMORY;
    else if (outcome === REFUSED) this.#reason = NO_DISK;
    else if (outcome !== KNOWN) this.#reason = ENGINE_CLOSED;
    else {
      this.#reason = ALL_APPLIED;
      this.#change.partition = partition;
      this.#change.sequence = sequence;
    }
  }

  /** Merges the change. Returns ALL_APPLIED, or the reason why it was not applied. */
  #merge(change: Mutation, policy: MergePolicy, sender: Buffer, syncBegan: Version): number {
    const { dataSetId, engine, onKnown } = this.#parts;
    const { path } = change;
    setMaker(change, sender, this.#own);
    this.#isOutdated = false;
    this.#path.append(path, sender);
    if (hasDataSet(path, dataSetId)) return ALL_APPLIED;
    change.origin = FROM_SOURCE;
    this.#reason = ENGINE_CLOSED;
    this.#isKnown = false;
    engine.merge(change, policy, this, syncBegan);
    if (this.#isKnown) {
      if (change.operation === CLEAR) change.partition = EVERY_PARTITION;
      onKnown(change);
    }
    return this.#reason;
  }
}

/** Sets the maker of a received change, which is the sender if none was sent; `own`: this data set. */
export function setMaker(change: Mutation, sender: Buffer, own: number): void {
  if (change.maker === 0 && change.operation !== CLEAR) change.maker = makerOf(sender);
  if (change.maker === own) change.maker = 0;
}
