/**
 * The contract of an engine whose data is this member's own: beside the operations it can be walked,
 * in steps, and be filled again from what sinks have recorded and visits have given. Its suite is
 * spec/engine/stored-engine.case.ts.
 */
import type { Engine, Outcome } from './engine.ts';
import type { Mutation } from './mutation.ts';

/** Where a visit has come to. Made empty, moved by `visit`, thrown away at any time. */
export class VisitCursor {
  /** Where the walk over the partition's index goes on. */
  place = 0;
  /** Queues that the walk has met and that are not given yet, by number. */
  readonly queues: number[] = [];
  /** The item with which the last of `queues` goes on. */
  item = 0;
}

/** Gets what a visit gives; must not call the engine. */
export interface StoredVisitor {
  /** An entry as SET, an item as OFFER; `sequence` is the partition's at this moment. */
  onStored(stored: Mutation): void;
}

/** One refilling of an engine. Until `end`, nobody else calls the engine but to read. */
export interface Replay {
  /**
   * Makes the change again unless it is known, or ended by what is known. Idempotent; mutations of
   * one partition come in the order of their sequences, what a visit has given before what was
   * recorded from its begin on; partitions in any order and mixture. Restores the partition's
   * sequence, versions, lives of maps and the sequences of items. Sinks are asked and told, with
   * FROM_REPLAY. APPLIED, also of what was dropped; REFUSED; or MEMORY_FULL: then nothing changed.
   */
  apply(mutation: Mutation): Outcome;
  /**
   * Applies the first `count` in their order, faster than one by one. How many were applied: fewer
   * than that where one was not.
   */
  applyAll(mutations: readonly Mutation[], count: number): number;
  /**
   * What visits have given is all applied: from now on messages of all partitions come in the order in
   * which they were recorded.
   */
  beginLog(): void;
  /** The partition's sequence is at least this: that at which a visit began. */
  restoreSequence(partition: number, sequence: number): void;
  /**
   * Forgets what is known of maps that have no entries. Nothing may be applied any more. False where
   * what is stored does not fit into the memory for it, which is never so with `mayExceed`.
   */
  end(): boolean;
}

/** What is known of all that a refilling brings. */
export interface KnownOfReplay {
  /** It had its place in as much memory: so nothing is MEMORY_FULL, even if it takes more for a while. */
  readonly mayExceed?: boolean;
  /** No entry was read after this, in ms since 1970: its max idle begins here, and otherwise now. */
  readonly lastReadMs?: number | undefined;
}

export interface StoredEngine extends Engine {
  /** Number of partitions, fixed for the life of the data. */
  readonly partitionCount: number;

  /** The last sequence of each partition, copied. */
  sequences(): Float64Array;

  /** Whether a sink keeps back answers that depend on this sequence of the partition. */
  holds(partition: number, sequence: number): boolean;

  /**
   * Gives about `budget` of the partition's entries and items to the visitor and moves the cursor.
   * Whether more is left. An entry that stands from the first step to the last is given at least
   * once, whatever moves meanwhile; one that is changed meanwhile in its old or its new form; of a
   * cleared map none after the clear; of a queue the items from its head on. Nothing expired is given,
   * nor what has been removed and may still come back.
   */
  visit(partition: number, cursor: VisitCursor, budget: number, visitor: StoredVisitor): boolean;

  /**
   * Whether what a SET, an OFFER or a RETURN tells of is stored now as it says; else it will not be
   * again, unless a later RETURN tells of it.
   */
  isStored(mutation: Mutation): boolean;

  /** Bytes of memory for what is stored; may be Infinity. */
  readonly memoryBytesMax: number;

  /** Begins a refilling; the engine is empty, or holds what an earlier one has left. */
  replay(known?: KnownOfReplay): Replay;

  /** Lets go of what refillings have left. Before anybody else has called the engine. */
  reset(): void;
}
