/**
 * A sink of mutations: it is asked before every mutation of an engine and notified after it.
 * Write-ahead log, replication and change events are sinks. An engine has none, one or several, given
 * to its constructor, and calls them in that order. A StoredEngine also takes sinks while it runs, behind
 * the others, and lets them leave.
 *
 * For each mutation the engine calls `admit` of every sink. If one refuses, the sinks that had
 * consented get `abandon`, nothing changes, and the caller's answer is REFUSED with the sink's code;
 * all of them get it when the engine itself refuses afterwards. Otherwise the mutation is made, and
 * every sink gets `record`, during the call that made it and before its answer. Per partition the
 * records come in the order of their sequences; between partitions no order is promised.
 *
 * Calls are synchronous, allocate nothing that outlives them, keep no argument (bytes are valid during
 * the call alone) and do not call the engine: they can be made under a partition's lock.
 *
 * Answers: one that depends on a partition may leave when its sequence is not beyond `durable` of every
 * sink; one that depends on every partition, when that is so for each at its sequence as of the answer.
 * The engine answers at once, and its `delays` tells whether a sink delays the answer
 * (stored-engine.ts); the sender of the answers keeps them back. So a sink whose `durable` may be less
 * than the last sequence it has recorded takes a callback by its constructor. It calls it, outside any
 * call of the engine, whenever `durable` has risen; then the answers are checked again.
 */
import type { Span } from '../base/span.ts';
import type { Mutation } from './mutation.ts';

/** Result of `admit` for consent. */
export const ADMITTED = 0;
/** There is no room for its record on the disk. */
export const DISK_FULL = 1;
/** The disk has failed; the member has to be restarted. */
export const DISK_FAILED = 2;
/** There is no room for its record on the disk, as making room has failed; the sink tries again. */
export const DISK_ERROR = 4;
/** Replication has as much under way as permitted. */
export const REPLICATION_FULL = 3;

export type Veto = 1 | 2 | 3 | 4;

export interface MutationSink {
  /**
   * Whether nothing more becomes durable. From then on an answer that depends on a sequence beyond
   * `durable` is UNKNOWN, as its data may be lost.
   */
  readonly hasFailed?: boolean;
  /** Whether the sink ignores replayed mutations: then it need not be asked or notified of them. */
  readonly ignoresReplay?: boolean;
  /** Whether the sink ignores the mutations of queues: then it is not asked or notified of them. */
  readonly ignoresQueues?: boolean;
  /**
   * Whether the sink wants the mutations of this map; of others it is not asked or notified. A sink without
   * this method wants all. The engine remembers the result until StoredEngine.reviewMaps is called, or a sink
   * joins or leaves.
   */
  wants?(map: Span): boolean;
  /**
   * Sets the resources for the record of the mutation aside, or refuses. Every field is set as it will be
   * at `record`. A consent is followed by exactly one of `record` and `abandon`, before any other
   * mutation is asked about; a veto by neither.
   */
  admit(mutation: Mutation): typeof ADMITTED | Veto;
  /** The mutation that was consented to is not made. */
  abandon(mutation: Mutation): void;
  /** The mutation has been made. Cannot be refused. */
  record(mutation: Mutation): void;
  /** The sequence of the partition up to which answers may leave; Infinity where none has to wait. */
  durable(partition: number): number;
}
