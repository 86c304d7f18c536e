/**
 * What a configuration says of WAN replication, in its effective form: the replications with their
 * publishers, and for maps the replication that their changes go to. wan-reading.ts makes it of a file,
 * wan-json.ts of a request.
 */

/** Publishers in a member: each holds a queue, and each change of a map is offered to all of its own. */
export const PUBLISHERS_MAX = 64;

/** These words in the order of the numbers that the original has for them in requests. */
export const ACKNOWLEDGE_TYPES = ['ACK_ON_RECEIPT', 'ACK_ON_OPERATION_COMPLETE'] as const;
export const PUBLISHER_STATES = ['REPLICATING', 'PAUSED', 'STOPPED'] as const;
export const QUEUE_FULL_BEHAVIORS = [
  'DISCARD_AFTER_MUTATION',
  'THROW_EXCEPTION',
  'THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE',
] as const;
export const CONSISTENCY_CHECK_STRATEGIES = ['NONE', 'MERKLE_TREES'] as const;

export const WAN_COMPRESSIONS = ['none', 'deflate'] as const;
export const MERGE_POLICIES = [
  ...(['PassThrough', 'PutIfAbsent', 'LatestUpdate'] as const),
  ...(['HigherHits', 'LatestAccess', 'ExpirationTime'] as const),
] as const;

export const MERKLE_DEPTH_DEFAULT = 10;
/** A tree of more levels counts as one of so many: its leaves double with each. */
export const MERKLE_DEPTH_COUNTED_MAX = 16;

type AcknowledgeType = (typeof ACKNOWLEDGE_TYPES)[number];
type PublisherState = (typeof PUBLISHER_STATES)[number];
type QueueFullBehavior = (typeof QUEUE_FULL_BEHAVIORS)[number];
type ConsistencyCheckStrategy = (typeof CONSISTENCY_CHECK_STRATEGIES)[number];
type WanCompression = (typeof WAN_COMPRESSIONS)[number];
type MergePolicy = (typeof MERGE_POLICIES)[number];

export interface WanReplication {
  readonly name: string;
  /** In their order; none, or each with an id of its own. */
  readonly publishers: readonly WanPublisher[];
}

export interface WanPublisher {
  readonly publisherId: string;
  /** Name of the cluster that the target must have. */
  readonly clusterName: string;
  /** At least one. */
  readonly targetEndpoints: readonly WanEndpoint[];
  /** Undefined where the target needs no login; either both are given or neither. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Files for the connections to the endpoints that have `tls`. */
  readonly tls: WanTls;
  /** Events of a batch. */
  readonly batchSize: number;
  readonly batchMaxDelayMs: number;
  readonly responseTimeoutMs: number;
  readonly acknowledgeType: AcknowledgeType;
  /** Events that are not acknowledged. */
  readonly queueCapacity: number;
  /** Bytes of these events. */
  readonly queueBytesMax: number;
  readonly queueFullBehavior: QueueFullBehavior;
  readonly initialPublisherState: PublisherState;
  /** Whether only the latest event of a key waits. */
  readonly snapshotEnabled: boolean;
  /** The longest time between two attempts. */
  readonly discoveryPeriodSeconds: number;
  /** Below 2: one batch for each endpoint. */
  readonly maxConcurrentInvocations: number;
  readonly consistencyCheckStrategy: ConsistencyCheckStrategy;
  readonly compression: WanCompression;
}

interface WanEndpoint {
  /** An address, without brackets, or a name. */
  readonly host: string;
  readonly port: number;
  /** First part of the target's paths; undefined where it is the member's own. */
  readonly segment: string | undefined;
  readonly tls: boolean;
}

/** Paths of files, and their passwords. */
export interface WanTls {
  /** Authorities of the targets' certificates; undefined for those of the system. */
  readonly authorities: string | undefined;
  /** What the member shows targets that ask for a certificate: two PEM files, or one PKCS12 file. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly keyPassword: string | undefined;
  readonly keyStore: string | undefined;
  readonly keyStorePassword: string | undefined;
}

/** Settings of a map, or of the maps of a pattern. */
export interface MapWan {
  readonly ref: WanReplicationRef | undefined;
  /** Whether the number of reads of an entry and the time of the last are kept. */
  readonly perEntryStatsEnabled: boolean;
  readonly merkleTree: {
    /** Undefined: on where a publisher of the map's replication has MERKLE_TREES. */
    readonly enabled: boolean | undefined;
    readonly depth: number;
  };
}

/** The replication that the changes of a map go to. */
export interface WanReplicationRef {
  readonly name: string;
  readonly mergePolicy: MergePolicy;
  /** Whether changes that came from other clusters go on. */
  readonly republishingEnabled: boolean;
  /** Patterns, in which `*` is any text, of the keys whose changes are kept back. */
  readonly filters: readonly string[];
}

/** The part of a configuration. */
export interface WanConfig {
  /** By name. */
  readonly wanReplications: ReadonlyMap<string, WanReplication>;
  /**
   * By a map's name or pattern. A name without an entry that the configuration has (in
   * `mapTimeToLiveSeconds`) has none of these settings, also where a pattern has.
   */
  readonly mapWan: ReadonlyMap<string, MapWan>;
  /**
   * TLS towards targets by the name of an endpoint configuration, '' for one without a name or else for that
   * of the member itself; undefined where connections have none.
   */
  readonly wanEndpoints: ReadonlyMap<string, WanTls | undefined>;
}

/** The places of these parts in a file, for messages. */
export const WAN_PLACES: Readonly<Record<keyof WanConfig, string>> = {
  wanReplications: 'wan-replication',
  mapWan: 'map.{name} for WAN replication',
  wanEndpoints: 'advanced-network.wan-endpoint-config',
};

export const NO_WAN: WanConfig = {
  wanReplications: new Map(),
  mapWan: new Map(),
  wanEndpoints: new Map(),
};

export const NO_WAN_TLS: WanTls = {
  authorities: undefined,
  certificate: undefined,
  key: undefined,
  keyPassword: undefined,
  keyStore: undefined,
  keyStorePassword: undefined,
};
