/**
 * The contract of an engine whose data is on servers, as the receiver of WAN replication uses it: it
 * merges sections of batches as a whole. It remembers the numbers of their events with the data, so
 * that no event is merged twice, whichever member receives it. Tested by redis/redis-merges.spec.ts.
 */
import type { APPLIED, MEMORY_FULL, Outcome, UNKNOWN, UNREACHABLE } from './engine.ts';
import type { MergePolicy } from './merge-policy.ts';
import type { Mutation } from './mutation.ts';
import type { Version } from './version.ts';

/** A section of a batch: events of one lane of a publisher of another data set. */
export interface SourceSection {
  /** Id of the data set that sends it. */
  readonly source: Buffer;
  /** SHA-256 of the publisher's names. */
  readonly publisher: Buffer;
  readonly lane: number;
  /** The version at which the events' synchronisation began; none for events of a queue. */
  readonly syncBegan: Version;
  readonly epoch: number;
  /** Number of the section's first event. */
  readonly firstNumber: number;
  /** The events to merge, by rising numbers; events of the section may be left out. */
  readonly events: readonly SourceEvent[];
  /**
   * Sets the change to that of the event: a SET, DELETE or CLEAR as StoredEngine.merge describes it.
   * Its spans need be valid until the next call only. A content type has up to 65,535 bytes.
   */
  load(event: SourceEvent, change: Mutation): void;
}

export interface SourceEvent {
  readonly number: number;
  readonly policy: MergePolicy;
  /** Identifies the change for `load`. */
  readonly at: number;
}

/** The result of a section. */
export interface SectionResult {
  /**
   * APPLIED: every event is merged. Otherwise any of them may be, and the section can be merged again:
   * those that are merged are then skipped.
   */
  readonly outcome: typeof APPLIED | typeof MEMORY_FULL | typeof UNREACHABLE | typeof UNKNOWN;
  /** Number of the section's entries of a synchronisation that were not taken. */
  readonly notTakenCount: number;
  /** A recorded epoch of the lane that is later: nothing more of the section was merged. */
  readonly laterEpoch?: number;
  /** The recorded first number that the section's first number is before: nothing more was merged. */
  readonly passedNumber?: number;
}

export interface SectionMerger {
  /**
   * Merges the section by the rules of StoredEngine.merge, except that maps without a replication
   * reference keep tombstones of merged removals only. The policies are PASS_THROUGH, PUT_IF_ABSENT,
   * LATEST_UPDATE and EXPIRATION_TIME. Never rejects. `onMerged` is called with the outcome of each
   * event: APPLIED, KNOWN or OUTDATED; or 0 if the event had been merged before.
   */
  mergeSection(
    section: SourceSection,
    onMerged?: (event: SourceEvent, outcome: Outcome | 0) => void,
  ): Promise<SectionResult>;

  /** Ensures that `now` is not earlier than `version`. */
  observe(version: Version): void;

  /** Sets `version` to the latest one of the clock, of merged changes and of `observe`. */
  now(version: Version): void;
}
