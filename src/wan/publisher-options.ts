/**
 * A publisher's settings, in the form of the configuration, and the references of the maps whose
 * changes it publishes.
 */
import type { Span } from '../base/span.ts';

/** Maximum number of publishers of a member. */
export const PUBLISHERS_MAX = 64;

/** A publisher's state: whether new events are queued, and whether queued events are sent. */
export type PublisherState = 'REPLICATING' | 'PAUSED' | 'STOPPED';

export interface WanPublisherOptions {
  readonly publisherId: string;
  /** Required name of the target's cluster. */
  readonly clusterName: string;
  /** At least one endpoint. */
  readonly targetEndpoints: readonly WanEndpoint[];
  /** Undefined if the target needs no credentials; both are set or neither. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Maximum number of events in a batch, 1 or more. */
  readonly batchSize: number;
  /** Maximum time that an event waits for others, in ms. */
  readonly batchMaxDelayMs: number;
  /** Time after which a batch without a response is sent again, in ms. */
  readonly responseTimeoutMs: number;
  readonly acknowledgeType: 'ACK_ON_RECEIPT' | 'ACK_ON_OPERATION_COMPLETE';
  /** Maximum number of unacknowledged events. */
  readonly queueCapacity: number;
  /** Maximum size of these events, in bytes. */
  readonly queueBytesMax: number;
  readonly queueFullBehavior:
    | 'DISCARD_AFTER_MUTATION'
    | 'THROW_EXCEPTION'
    | 'THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE';
  readonly initialPublisherState: PublisherState;
  /** Whether only the latest event of a key is queued. */
  readonly snapshotEnabled: boolean;
  /** Maximum time between two attempts to connect, in seconds. */
  readonly discoveryPeriodSeconds: number;
  /**
   * Maximum number of batches in flight per endpoint; below 2 a default applies (batch-limits.ts).
   */
  readonly maxConcurrentInvocations: number;
  /** Whether maps can be compared with the same maps of the target. */
  readonly consistencyCheckStrategy: 'NONE' | 'MERKLE_TREES';
  readonly compression: 'none' | 'deflate';
}

export interface WanEndpoint {
  /** An address without brackets, or a host name. */
  readonly host: string;
  readonly port: number;
  /** First segment of the target's paths; undefined if it equals that of this member. */
  readonly segment: string | undefined;
  readonly tls: boolean;
}

/** Describes how the changes of a map are published. */
export interface WanMapRef {
  /** Number of the merge policy that the target applies (merge-policy.ts). */
  readonly policy: number;
  /** Whether changes from other data sets are forwarded. */
  readonly republishing: boolean;
  /** Returns whether changes of the key are published. The key is only valid during the call. */
  accepts(key: Span): boolean;
}

/**
 * Returns the map's reference to the publisher's replication, or undefined. The result for a name
 * never changes, and calls are rare.
 */
export type RefOf = (map: Buffer) => WanMapRef | undefined;

/** The settings of a map's hash trees, by which it is compared with the target's map. */
export interface MapTree {
  /** False if the configuration turns them off. */
  readonly isOn: boolean;
  /** Number of levels, 2 to 16. */
  readonly depth: number;
}
