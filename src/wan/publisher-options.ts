/**
 * What a publisher is made with: its settings, in the form that the configuration has them in, and what
 * it knows of the maps whose changes it publishes.
 */
import type { Span } from '../base/span.ts';

/** Publishers in a member. */
export const PUBLISHERS_MAX = 64;

/** A publisher's state: whether new events are queued, and whether queued events are sent. */
export type PublisherState = 'REPLICATING' | 'PAUSED' | 'STOPPED';

export interface WanPublisherOptions {
  readonly publisherId: string;
  /** Name of the cluster that the target must have. */
  readonly clusterName: string;
  /** At least one. */
  readonly targetEndpoints: readonly WanEndpoint[];
  /** Undefined where the target needs no login; either both are given or neither. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Events of a batch, 1 or more. */
  readonly batchSize: number;
  /** The longest time that an event waits for others. */
  readonly batchMaxDelayMs: number;
  /** A batch without an answer is sent again after this time. */
  readonly responseTimeoutMs: number;
  readonly acknowledgeType: 'ACK_ON_RECEIPT' | 'ACK_ON_OPERATION_COMPLETE';
  /** Events that are not acknowledged. */
  readonly queueCapacity: number;
  /** Bytes of these events. */
  readonly queueBytesMax: number;
  readonly queueFullBehavior:
    | 'DISCARD_AFTER_MUTATION'
    | 'THROW_EXCEPTION'
    | 'THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE';
  readonly initialPublisherState: PublisherState;
  /** Whether only the latest event of a key waits. */
  readonly snapshotEnabled: boolean;
  /** The longest time between two attempts. */
  readonly discoveryPeriodSeconds: number;
  /** Batches under way to one endpoint, each of other partitions; below 2: see batch-limits.ts. */
  readonly maxConcurrentInvocations: number;
  /** Whether maps can be compared with those of the target. */
  readonly consistencyCheckStrategy: 'NONE' | 'MERKLE_TREES';
  readonly compression: 'none' | 'deflate';
}

export interface WanEndpoint {
  /** An address, without brackets, or a name. */
  readonly host: string;
  readonly port: number;
  /** First part of the target's paths; undefined where it is the member's own. */
  readonly segment: string | undefined;
  readonly tls: boolean;
}

/** How the changes of a map are published. */
export interface WanMapRef {
  /** The number of the merge policy (merge-policy.ts), which the target applies. */
  readonly policy: number;
  /** Whether changes that came from other data sets go on. */
  readonly republishing: boolean;
  /** Whether the changes of the key are published; valid during the call alone. */
  accepts(key: Span): boolean;
}

/**
 * The reference of a map to the publisher's replication; undefined where it has none. The answer for a
 * name is always the same, and asked for seldom.
 */
export type RefOf = (map: Buffer) => WanMapRef | undefined;

/** The hash trees of a map, by which it is compared with that of a target. */
export interface MapTree {
  /** False where the configuration turns them off. */
  readonly isOn: boolean;
  /** Levels, 2 to 16. */
  readonly depth: number;
}
