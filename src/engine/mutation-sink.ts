/**
 * A sink of mutations: the engine asks it before every mutation and notifies it afterwards.
 * Write-ahead log, replication and change events are sinks. An engine has zero or more sinks,
 * passed to its constructor, and calls them in that order. A StoredEngine also accepts additional
 * sinks while it runs, calls them after the others, and can remove them.
 *
 * For each mutation the engine calls `admit` of every sink. If a sink refuses, the sinks that had
 * consented get `abandon`, nothing changes, and the result is REFUSED with the sink's code. If the
 * engine itself refuses afterwards, all sinks get `abandon`. Otherwise the mutation is made, and
 * every sink gets `record`, during the call that made it and before its result. Within a partition,
 * records arrive in the order of their sequences; between partitions no order is guaranteed.
 *
 * Calls are synchronous, allocate nothing that outlives them, retain no argument (bytes are valid
 * only during the call) and do not call the engine: they can be made under a partition's lock.
 *
 * Results. A result that depends on a partition may be sent when its sequence is not beyond
 * `durable` of any sink; one that depends on every partition, when this is true for each partition
 * at its sequence as of the result. The engine returns the result at once, its `delays` reports
 * whether a sink delays it (stored-engine.ts), and the sender of the response holds it back. So a
 * sink whose `durable` may be lower than the last recorded sequence accepts a callback in its
 * constructor. It calls it, outside any call of the engine, whenever `durable` has risen; then the
 * delayed results are checked again.
 */
import type { Span } from '../base/span.ts';
import type { Mutation } from './mutation.ts';

/** Result of `admit`: the sink consents. */
export const ADMITTED = 0;
/** The disk has no room for the record. */
export const DISK_FULL = 1;
/** The disk has failed; the member must be restarted. */
export const DISK_FAILED = 2;
/** The disk has no room for the record, because making room failed; the sink retries. */
export const DISK_ERROR = 4;
/** Replication has as many changes in progress as permitted. */
export const REPLICATION_FULL = 3;

export type Veto = 1 | 2 | 3 | 4;

export interface MutationSink {
  /**
   * Whether nothing more will become durable. From then on a result that depends on a sequence
   * beyond `durable` is UNKNOWN, as its data may be lost.
   */
  readonly hasFailed?: boolean;
  /** Whether the sink ignores replayed mutations: then it need not be called for them. */
  readonly ignoresReplay?: boolean;
  /** Whether the sink ignores the mutations of queues: then it is not called for them. */
  readonly ignoresQueues?: boolean;
  /**
   * Whether the sink wants the mutations of this map; for other maps, and the reserved map, it is
   * not called. A sink without this method wants all. The engine caches the result until
   * StoredEngine.reviewMaps is called, or a sink is added or removed.
   */
  wants?(map: Span): boolean;
  /**
   * Reserves the resources for the mutation's record, or refuses. Every field is set as it will be
   * at `record`. A consent is followed by exactly one call of `record` or `abandon`, before the
   * next call of `admit`; a veto by neither.
   */
  admit(mutation: Mutation): typeof ADMITTED | Veto;
  /** The admitted mutation is not made. */
  abandon(mutation: Mutation): void;
  /** The mutation has been made. The sink cannot refuse it. */
  record(mutation: Mutation): void;
  /**
   * The sequence of the partition up to which results may be sent; Infinity if none has to wait.
   */
  durable(partition: number): number;
}
