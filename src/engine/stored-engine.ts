/**
 * The contract of an engine that stores this member's own data. Beside the operations it can be walked,
 * in steps, and be filled again from the records of sinks and the results of visits. Its suite is
 * spec/engine/stored-engine.case.ts.
 */
import type { Engine, Outcome, Receiver } from './engine.ts';
import type { MergePolicy } from './merge-policy.ts';
import type { Mutation } from './mutation.ts';
import type { MutationSink } from './mutation-sink.ts';
import type { Version } from './version.ts';

/** The position of a visit. Made empty, moved by `visit`, dropped at any time. */
export class VisitCursor {
  /** Where the walk over the partition's index continues. */
  place = 0;
  /** Queues that the walk has met and whose items are not given yet, by number. */
  readonly queues: number[] = [];
  /** The item at which the last of `queues` continues. */
  item = 0;
}

/** The position of a walk over the tombstones. Made empty, moved by `visitTombstones`, dropped any time. */
export class TombstoneCursor {
  /** The last one that was given, and its place in the order of age. */
  id = 0;
  serial = 0;
  /** The place of the latest one at the first step; 0 before that. */
  endSerial = 0;
  /** Maps that were given behind them. */
  mapCount = 0;
}

/** Gets the results of a visit; must not call the engine. */
export interface StoredVisitor {
  /** An entry as SET, an item as OFFER; `sequence` is the partition's at this moment. */
  onStored(stored: Mutation): void;
}

/** One refilling of an engine. Until `end` the engine takes no other calls than reads. */
export interface Replay {
  /**
   * Makes the change again unless it is known, or ended by a known one. Of two changes of a key with one
   * version the one counts that compareChanges (mutation.ts) chooses, in whatever order they come; a
   * removal is known for this to the next 65,535 removals at least; from beginLog on, a set that comes behind
   * a removal has won against it. Idempotent. Tombstones are remembered again. Mutations of one
   * partition come in the order of their sequences: first the results of a visit, then the records from
   * the beginning of that visit on. Partitions come in any order and mixture. Restores the partition's
   * sequence, versions, lives of maps and the sequences of items. Sinks are asked and notified, with
   * FROM_REPLAY. APPLIED, also where the mutation was dropped; REFUSED; or MEMORY_FULL: then nothing
   * changed.
   */
  apply(mutation: Mutation): Outcome;
  /**
   * The results of visits are all applied: from now on messages of all partitions come in the order in
   * which they were recorded.
   */
  beginLog(): void;
  /** The partition's sequence is at least this one: that at which a visit began. */
  restoreSequence(partition: number, sequence: number): void;
  /**
   * Forgets the lives of maps that have no entries. Nothing may be applied any more. False where the
   * stored data exceeds its memory, which is never so with `mayExceed`.
   */
  end(): boolean;
}

/** Known facts of the data that a refilling brings. */
export interface KnownOfReplay {
  /** The data fitted into as much memory before: nothing is MEMORY_FULL, even if it takes more now. */
  readonly mayExceed?: boolean;
  /** No entry was read after this time, in ms since 1970: its max idle begins then, otherwise now. */
  readonly lastReadMs?: number | undefined;
}

/** What is remembered of removals, for changes that are merged later. */
export interface TombstoneFigures {
  /** Those that are remembered now. */
  readonly count: number;
  /** Those that were forgotten before their time was over, since the start, as there were too many. */
  readonly droppedCount: number;
}

/** What an engine that merges changes is told of its maps. All are optional; by default none is so. */
export interface MergeOptions {
  /**
   * Whether the two functions below may say so of any map: while not, no operation asks them. Asked at the
   * start and by StoredEngine.reviewMaps, until it is so; by default it is, where there is such a function.
   */
  readonly hasKeptMaps?: () => boolean;
  /** Whether removals in the map leave tombstones. Those of a map that changes were merged into always do. */
  readonly keepsTombstones?: (map: Buffer) => boolean;
  /** Whether reads of the map's entries are counted. */
  readonly keepsStatistics?: (map: Buffer) => boolean;
  /** How long a tombstone is remembered, in ms; 86,400,000 by default. */
  readonly tombstoneRetentionMs?: number;
  /** Tombstones at most; 1,000,000 by default. */
  readonly tombstonesMax?: number;
  /** Called when tombstones are forgotten before their time, at most once a minute, with `droppedCount`. */
  readonly onTombstonesDropped?: (droppedCount: number) => void;
}

export interface StoredEngine extends Engine {
  /** Number of partitions, fixed for the life of the data. */
  readonly partitionCount: number;

  /** The last sequence of each partition, copied. */
  sequences(): Float64Array;

  /** Whether a sink delays answers that depend on this sequence of the partition. */
  delays(partition: number, sequence: number): boolean;

  /**
   * Gives about `budget` of the partition's entries and items to the visitor and moves the cursor.
   * Returns whether more is left. An entry that stays from the first step to the last is given at least
   * once, even if its cell moves; one that changes meanwhile, in its old or its new form; of a
   * cleared map none after the clear; of a queue the items from its head on. Expired entries are not
   * given, nor removed items that may still return.
   */
  visit(partition: number, cursor: VisitCursor, budget: number, visitor: StoredVisitor): boolean;

  /**
   * Gives about `budget` of the tombstones to the visitor, from the oldest on, and moves the cursor. Returns
   * whether more are left: not of those that have been left or renewed since the first step. A tombstone is
   * given as a DELETE, or as a CLEAR for all keys of a map: its `tombstone` is set, `key` is a hash,
   * `version` has the time, and `sequence` is 0. Behind them come the maps that changes were merged into,
   * each as such a CLEAR without a key; `name` is the map's, or empty for every map. All of these are only of
   * use to Replay.apply and `isStored`.
   */
  visitTombstones(cursor: TombstoneCursor, budget: number, visitor: StoredVisitor): boolean;

  /**
   * Whether the entry or item of a SET, an OFFER or a RETURN is stored now as the mutation tells. If
   * not, it will not be again, unless by a later RETURN. Of a DELETE, an EXPIRE or a CLEAR whether its
   * tombstone is remembered now.
   */
  isStored(mutation: Mutation): boolean;

  /** Bytes of memory for stored data; may be Infinity. */
  readonly memoryBytesMax: number;

  /**
   * Merges a change that was made in another data set: a SET, DELETE or CLEAR with its `origin` (FROM_SOURCE
   * or more), `name`, `key`, `value`, `contentType`, `version`, `expiryMs`, `maxIdleSeconds`, `hits`,
   * `lastAccessSeconds`, `path` (the data set it was made in and those it came by, the sender's last; not
   * this one's) and `maker`. The engine sets the other fields. The version clock goes on from the change's
   * version.
   *
   * A SET or DELETE that is not later than a tombstone of its key or its map changes nothing, under every
   * policy. Neither does one that is earlier than the entry and of the same maker: by another way, or again,
   * the entry's past has come. Otherwise a SET wins where there is no entry, or where the policy says so; a
   * DELETE where it is not earlier than the entry, under PASS_THROUGH always; where there is no entry, it
   * leaves its tombstone. A CLEAR ends everything in the map that is not later than it, at once or in steps.
   *
   * `syncBegan`: the SET is of a synchronisation that began at that version. Then a tombstone or an entry
   * from before that does not stop it by the two rules above, except a tombstone under LATEST_UPDATE.
   *
   * A change that wins is a mutation, with its origin and path. It keeps its version, unless a replay would
   * not choose it, or a tombstone is later: then this data set gives it the version right after that of the
   * entry or tombstone, and is its maker. It is not the next version, as what the sender has changed since is
   * later than all that it had seen. APPLIED; KNOWN; OUTDATED; MEMORY_FULL; REFUSED; or UNREACHABLE. The
   * answer's `version` is the entry's after an APPLIED or KNOWN set.
   */
  merge(change: Mutation, policy: MergePolicy, receiver: Receiver, syncBegan?: Version): void;

  /** From now on each version that this engine gives is later than that. */
  observe(version: Version): void;

  /** Sets `version` to the last one that the engine has given or observed; none before the first. */
  now(version: Version): void;

  /** The id of the data set, which tells where the counter of a millisecond begins. Before any write. */
  identify(dataSetId: Uint8Array): void;

  /** The sink is asked and notified from now on, as the last. Never from inside a call of the engine. */
  addSink(sink: MutationSink): void;

  /** The sink is no longer asked or notified. Never from inside a call of the engine. */
  removeSink(sink: MutationSink): void;

  /** What the options, and `wants` of sinks, say of a map may have changed: they are asked again. */
  reviewMaps(): void;

  /** Figures of the tombstones. */
  readonly tombstones: TombstoneFigures;

  /** Begins a refilling; the engine is empty, or has the data of an earlier one. */
  replay(known?: KnownOfReplay): Replay;

  /** Drops the data of refillings. Only before the first call of an operation. */
  reset(): void;
}
