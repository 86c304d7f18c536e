/**
 * Applies the sections of received batches: to the engine of a member that stores its own data
 * (stored-sections.ts), or to servers (server-sections.ts). Tested by message-format.spec.ts.
 */
import type { Mutation } from '../engine/mutation.ts';
import type { Version } from '../engine/version.ts';
import type { ReceivedBatch, ReceivedSection } from './received-batch.ts';
import type { LaneNumbers } from './received-numbers.ts';

/** Reasons in the response to a batch (message-format.ts). */
export const ALL_APPLIED = 0;
export const NO_MEMORY = 1;
export const NO_DISK = 2;
export const OTHER_DATA_SET = 3;
export const ENGINE_CLOSED = 4;
export const PASSIVE = 5;
export const SERVERS_REFUSE = 6;

/** A section to apply. */
export interface SectionWork {
  /** Id of the sender's data set. */
  readonly sender: Buffer;
  readonly batch: ReceivedBatch;
  readonly section: ReceivedSection;
  readonly lane: LaneNumbers;
  readonly isOnReceipt: boolean;
  /** Throws GridError WAN_OLDER_EPOCH if the sender has begun a later epoch. */
  assertCurrent(): void;
  /** Records that the sender has begun this epoch. */
  onEpoch(epoch: number): void;
  /** Returns why the change is skipped, as no client could have made it; undefined to apply it. */
  faultOf(change: Mutation): string | undefined;
}

export interface SectionOutcome {
  /** How many events, from the first on, need not be sent again. */
  readonly done: number;
  readonly reason: number;
}

export interface SectionApplier {
  /** Whether reads are counted, so that changes of HIGHER_HITS and LATEST_ACCESS can be merged. */
  readonly countsReads: boolean;
  /** Whether a batch may be acknowledged before it is applied. */
  readonly acknowledgesOnReceipt: boolean;
  /** See StoredEngine. */
  observe(version: Version): void;
  now(version: Version): void;
  /**
   * Applies the events that are not applied yet, and counts those not taken and those rejected. Rejects
   * with GridError WAN_OLDER_EPOCH or WAN_NUMBERS_PASSED.
   */
  apply(work: SectionWork): Promise<SectionOutcome>;
}
