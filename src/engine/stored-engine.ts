/**
 * The contract of an engine that stores the data in this member. In addition to the operations it
 * can be walked in steps, and be refilled from the records of sinks and the results of visits. Its
 * suite is spec/engine/stored-engine.case.ts. Tested by embedded/tombstones.spec.ts.
 */
import type { Span } from '../base/span.ts';
import type { Engine, Outcome, Receiver } from './engine.ts';
import type { MergePolicy } from './merge-policy.ts';
import type { Mutation } from './mutation.ts';
import type { MutationSink } from './mutation-sink.ts';
import type { Version } from './version.ts';

/** Maximum number of items that a call of removeItems removes. */
export const REMOVED_ITEMS_MAX = 1000;

/** The position of a visit. Created empty, advanced by `visit`, and can be dropped at any time. */
export class VisitCursor {
  /** Position in the partition's index at which the walk continues. */
  place = 0;
  /** Numbers of the queues that the walk has found and whose items have not been visited yet. */
  readonly queues: number[] = [];
  /** The item at which the last of `queues` continues. */
  item = 0;
}

/**
 * The position of a walk over the tombstones. Created empty, advanced by `visitTombstones`, and can
 * be dropped at any time.
 */
export class TombstoneCursor {
  /** The id of the last visited tombstone; `serial` is its place in the order of age. */
  id = 0;
  serial = 0;
  /** Serial of the latest tombstone at the first step; 0 before that. */
  endSerial = 0;
  /** Number of maps visited after the tombstones. */
  mapCount = 0;
}

/** Receives the results of a visit; must not call the engine. */
export interface StoredVisitor {
  /** Receives an entry as a SET, an item as an OFFER; `sequence` is the partition's current one. */
  onStored(stored: Mutation): void;
}

/** One refill of an engine. Until `end`, reads are the only other calls that the engine accepts. */
export interface Replay {
  /**
   * Makes the change again unless it is already recorded, or was ended by a recorded one.
   * Idempotent. If two changes of a key have equal versions, compareChanges (mutation.ts) selects
   * the one that remains, whatever the order in which they are applied. For this, a removal is
   * recorded for at least the next 65,535 removals; from beginLog on, a set that follows a removal
   * has won against it. Tombstones are restored.
   *
   * Mutations of one partition are applied in the order of their sequences: first the results of a
   * visit, then the records from the start of that visit on. Partitions can be applied in any order
   * and mixture. Restores the partition's sequence, versions, lives of maps and the sequences of
   * items. Sinks are asked and notified, with FROM_REPLAY. Returns APPLIED, also if the mutation
   * was dropped; or REFUSED or MEMORY_FULL, and then nothing changed.
   */
  apply(mutation: Mutation): Outcome;
  /**
   * All results of visits are applied: from now on messages of all partitions are applied in the
   * order in which they were recorded.
   */
  beginLog(): void;
  /** Raises the partition's sequence to at least this one, at which a visit began. */
  restoreSequence(partition: number, sequence: number): void;
  /**
   * Discards the lives of maps that have no entries. Nothing may be applied afterwards. Returns
   * false if the stored data exceeds its memory, which is never the case with `mayExceed`.
   */
  end(): boolean;
}

/** Facts about the data of a refill. */
export interface ReplayFacts {
  /**
   * Whether the data fitted into the same memory before: then nothing is MEMORY_FULL, even if the
   * data needs more now.
   */
  readonly mayExceed?: boolean;
  /**
   * Time of the last read of any entry, in ms since 1970: max idle starts then; if undefined, now.
   */
  readonly lastReadMs?: number | undefined;
}

/** Counts of the tombstones, which record removals for changes that are merged later. */
export interface TombstoneFigures {
  /** Number of recorded tombstones. */
  readonly count: number;
  /**
   * Number of tombstones dropped before their retention ended, since the start, because there were
   * too many.
   */
  readonly droppedCount: number;
}

/**
 * Options of an engine that merges changes. All are optional; by default no map has these
 * properties. The reserved map never has them.
 */
export interface MergeOptions {
  /**
   * Whether either of the two functions below may return true for a map: until then no operation
   * calls them. Called at the start and by StoredEngine.reviewMaps until it returns true; by
   * default it is true if either function is set.
   */
  readonly hasKeptMaps?: () => boolean;
  /**
   * Whether removals in the map leave tombstones. In a map that changes were merged into, they
   * always do.
   */
  readonly keepsTombstones?: (map: Buffer) => boolean;
  /** Whether reads of the map's entries are counted. */
  readonly keepsStatistics?: (map: Buffer) => boolean;
  /** Retention of a tombstone, in ms; 86,400,000 by default. */
  readonly tombstoneRetentionMs?: number;
  /** Maximum number of tombstones; 1,000,000 by default. */
  readonly tombstonesMax?: number;
  /** Called when tombstones are dropped before their retention ends, at most once a minute. */
  readonly onTombstonesDropped?: (droppedCount: number) => void;
}

export interface StoredEngine extends Engine {
  /** Number of partitions, fixed for the life of the data. */
  readonly partitionCount: number;

  /** Returns a copy of the last sequence of each partition. */
  sequences(): Float64Array;

  /** Whether a sink delays results that depend on this sequence of the partition. */
  delays(partition: number, sequence: number): boolean;

  /**
   * Passes about `budget` of the partition's entries and items to the visitor and advances the
   * cursor. Returns whether more remain. An entry that exists from the first step to the last is
   * visited at least once, even if its cell moves. An entry that changes meanwhile is visited in
   * its old or its new form. No entry of a cleared map is visited after the clear. The items of a
   * queue are visited from its head on. Expired entries are not visited, nor removed items that may
   * still return.
   */
  visit(partition: number, cursor: VisitCursor, budget: number, visitor: StoredVisitor): boolean;

  /**
   * Passes about `budget` of the tombstones to the visitor, oldest first, and advances the cursor.
   * Returns whether more remain, not counting tombstones that were removed or renewed since the
   * first step. A tombstone is passed as a DELETE, or as a CLEAR for all keys of a map: `tombstone`
   * is set, `key` is a hash, `version` contains the time, and `sequence` is 0. After the
   * tombstones, the maps that changes were merged into are passed, each as such a CLEAR without a
   * key; `name` is the map's, or empty for every map. These messages are useful only for
   * Replay.apply and `isStored`.
   */
  visitTombstones(cursor: TombstoneCursor, budget: number, visitor: StoredVisitor): boolean;

  /**
   * Whether the entry or item of a SET, an OFFER or a RETURN is currently stored as the mutation
   * describes it. If not, it will not be again, except after a later RETURN. For a DELETE, an
   * EXPIRE or a CLEAR: whether its tombstone is currently recorded.
   */
  isStored(mutation: Mutation): boolean;

  /** Returns the number that the next item offered to the queue gets; 0 if there is no queue. */
  queueEnd(queue: Span): number;

  /**
   * Removes items of the queue without a hold: in their order those that a take could get, with
   * numbers below `end`, up to REMOVED_ITEMS_MAX. COUNTED: the number of removed items, 0 if there
   * are none. REFUSED: a sink refuses the first one. Each removal is recorded like that of a take.
   */
  removeItems(queue: Span, end: number, receiver: Receiver): void;

  /**
   * Calls `onRoom` once, in a later turn, after the next removal of an item from the queue, or if
   * there is no queue. A second call for a queue replaces the first one. After close it is not
   * called.
   */
  awaitRoom(queue: Span, onRoom: () => void): void;

  /** Bytes of memory for stored data; may be Infinity. */
  readonly memoryBytesMax: number;

  /**
   * Merges a change that was made in another data set: a SET, DELETE or CLEAR with its `origin`
   * (FROM_SOURCE or more), `name`, `key`, `value`, `contentType`, `version`, `expiryMs`,
   * `maxIdleSeconds`, `hits`, `lastAccessSeconds`, `path` (the data set it was made in and those it
   * passed through, the sender last; without this one) and `maker`. The engine sets the other
   * fields. The version clock advances to the change's version.
   *
   * Under every policy, a SET or DELETE changes nothing if it is not later than a tombstone of its
   * key or its map, or if it is earlier than the entry and has the same maker: then it is an
   * earlier state of the entry, received again or by another route. Otherwise a SET wins if there
   * is no entry, or by the policy; a DELETE wins if it is not earlier than the entry, and under
   * PASS_THROUGH always; if there is no entry, it leaves its tombstone. A CLEAR removes everything
   * in the map that is not later than the CLEAR, at once or in steps.
   *
   * `syncBegan`: the SET belongs to a synchronisation that began at that version. Then a tombstone
   * or an entry from before that version does not stop it by the two rules above, except a
   * tombstone under LATEST_UPDATE.
   *
   * A change that wins is a mutation, with its origin and path. It keeps its version, unless a
   * replay would not select it, or a tombstone is later: then this data set assigns it the version
   * right after that of the entry or tombstone, and is its maker. It is not the clock's next
   * version, because the sender's changes since then are later than everything the sender had seen.
   * APPLIED; KNOWN; OUTDATED, also for a change of the reserved map; MEMORY_FULL; REFUSED; or
   * UNREACHABLE. The result's `version` is the entry's after a set with APPLIED or KNOWN.
   */
  merge(change: Mutation, policy: MergePolicy, receiver: Receiver, syncBegan?: Version): void;

  /** Ensures that each version that this engine generates from now on is later than `version`. */
  observe(version: Version): void;

  /**
   * Sets `version` to the last one that the engine has generated or observed; none before the
   * first.
   */
  now(version: Version): void;

  /**
   * Sets the id of the data set, which determines the first counter of a millisecond. Called before
   * any write.
   */
  identify(dataSetId: Uint8Array): void;

  /** Adds a sink after the others. Never called from inside a call of the engine. */
  addSink(sink: MutationSink): void;

  /** Removes a sink. Never called from inside a call of the engine. */
  removeSink(sink: MutationSink): void;

  /** Reads the options and the sinks' `wants` of all maps again, as they may have changed. */
  reviewMaps(): void;

  /** Counts of the tombstones. */
  readonly tombstones: TombstoneFigures;

  /** Begins a refill; the engine is empty, or has the data of an earlier refill. */
  replay(known?: ReplayFacts): Replay;

  /** Drops the data of refills. Called only before the first operation. */
  reset(): void;
}
