/**
 * Who is asked before, and told after, every mutation of an engine: a write-ahead log, replication,
 * change events. An engine has none, one or several, given to its constructor, and calls them in
 * that order.
 *
 * For each mutation: `admit` is asked of every sink. If one refuses, those that had consented get
 * `abandon`, nothing changes, and the caller's answer is REFUSED with the sink's code; likewise all of
 * them get it when the engine itself refuses afterwards. Otherwise the mutation is made, and every
 * sink gets `record`, during the call that made it and before its answer. Per partition the records
 * come in the order of their sequences; between partitions no order is promised.
 *
 * Calls are synchronous, allocate nothing that outlives them, keep no argument (bytes are valid
 * during the call alone) and do not call the engine: they can be made under a partition's lock.
 *
 * Answers: one that depends on a partition may leave when the sequence it carries is not beyond what
 * `durable` of every sink says; one that depends on every partition, when that holds for each at its
 * sequence as of the answer. The engine answers at once and says `holds` when asked (stored-engine.ts);
 * whoever sends the answers keeps them back. A sink that says less than the last sequence it has
 * recorded therefore takes a callback by its constructor and calls it, outside any call of the
 * engine, whenever `durable` has risen: the answers are looked at again then.
 */
import type { Mutation } from './mutation.ts';

/** What `admit` returns for consent. */
export const ADMITTED = 0;
/** There is no room for its record on the disk. */
export const DISK_FULL = 1;
/** The disk has failed; the member has to be restarted. */
export const DISK_FAILED = 2;
/** There is no room for its record, as making some has failed; that is tried again. */
export const DISK_ERROR = 4;
/** Replication has as much under way as it may have. */
export const REPLICATION_FULL = 3;

export type Refusal = 1 | 2 | 3 | 4;

export interface MutationSink {
  /**
   * Whether nothing more gets durable: an answer that depends on more than `durable` says is UNKNOWN
   * from then on, as what it tells may be lost.
   */
  readonly hasFailed?: boolean;
  /** Whether what is replayed is nothing to it: it need not be asked and told of that. */
  readonly ignoresReplay?: boolean;
  /**
   * Reserves what recording the mutation takes, or refuses. Everything is set as it will be when it
   * is recorded. Followed by exactly one of `record` and `abandon` if it consents, before any other
   * mutation is asked about, and by none if it refuses.
   */
  admit(mutation: Mutation): typeof ADMITTED | Refusal;
  /** The mutation that was consented to is not made after all. */
  abandon(mutation: Mutation): void;
  /** The mutation has been made. Cannot be refused. */
  record(mutation: Mutation): void;
  /** The sequence of the partition up to which answers may leave; Infinity where it never matters. */
  durable(partition: number): number;
}
