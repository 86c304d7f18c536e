/**
 * The status of a member as a value: the body of the response over HTTP, and the result in a program.
 * Tested by monitoring-actions.spec.ts.
 */
import type { ClusterState, MemberInfo, NodeState } from '../cluster/cluster.ts';

/** The persistence of a member. */
export interface PersistenceStatus {
  /** When written data is synced: `always`, `interval` or `never`. */
  readonly sync: string;
  /** Size of the log on the disk, in bytes. */
  readonly logBytes: number;
  /** Time of the last snapshot, in ms since 1970; null if there is none. */
  readonly snapshotTime: number | null;
  /** Whether changes are refused because the disk is full. */
  readonly diskFull: boolean;
  /** Whether changes are refused because the disk has failed. */
  readonly diskFailed: boolean;
}

/**
 * The load of the last 300 seconds: a value for each step, the oldest first, null for none. All lists
 * have the same length.
 */
export interface LoadHistory {
  /** Duration of a step, in seconds. */
  readonly stepSeconds: number;
  /** End of the last step, in ms since 1970. */
  readonly endMs: number;
  /** Number of requests over HTTP. */
  readonly requests: readonly (number | null)[];
  /** Number of these with a status of 500 or more. */
  readonly errors: readonly (number | null)[];
  /** Median of their durations, in ms. */
  readonly p50Ms: readonly (number | null)[];
  /** 99th percentile of their durations, in ms. */
  readonly p99Ms: readonly (number | null)[];
  /** Number of open connections of clients. */
  readonly connections: readonly (number | null)[];
  /** Memory that stored data occupies, in bytes. */
  readonly memoryBytes: readonly (number | null)[];
}

/** The status of a member. */
export interface MemberStatus {
  /** The member. */
  readonly member: {
    /** Name of the member, `instanceName`. */
    readonly name: string;
    /** UUID; null until the member has joined its cluster. */
    readonly uuid: string | null;
    /** Address as `host:port`; null until the member has joined its cluster. */
    readonly address: string | null;
    /** Version of the program. */
    readonly version: string;
    /** Start of the member, in ms since 1970. */
    readonly startTime: number;
  };
  /** The cluster. */
  readonly cluster: {
    /** Name of the cluster. */
    readonly name: string;
    /** State of the cluster. */
    readonly state: ClusterState;
    /** Its members, in the order in which they joined. */
    readonly members: readonly MemberInfo[];
  };
  /** The health, as its path over HTTP reports it. */
  readonly health: {
    /** State of the member. */
    readonly nodeState: NodeState;
    /** State of the cluster. */
    readonly clusterState: ClusterState;
    /** Whether the loss of one member would lose no more data than the loss of a single copy. */
    readonly clusterSafe: boolean;
    /** Number of partitions that remain to be moved. */
    readonly migrationQueueSize: number;
    /** Number of members. */
    readonly clusterSize: number;
  };
  /** The HTTP servers. */
  readonly http: {
    /** Number of open connections of clients. */
    readonly connections: number;
    /** Size of requests and responses in progress, in bytes. */
    readonly inFlightBytes: number;
  };
  /** Memory, in bytes. */
  readonly memory: {
    /** Memory of stored data; null if servers store it. */
    readonly usedBytes: number | null;
    /** Limit of `usedBytes`. */
    readonly limitBytes: number | null;
    /** Resident memory of the process. */
    readonly residentBytes: number;
  };
  /** Null without persistence. */
  readonly persistence: PersistenceStatus | null;
  /** WAN replication; null without publishers. */
  readonly wan: {
    /** Number of publishers. */
    readonly publishers: number;
    /** Number of events that wait in their queues. */
    readonly queuedEvents: number;
  } | null;
  /** The CP subsystem. */
  readonly cp: {
    /** Number of groups, METADATA included. */
    readonly groups: number;
    /** Number of sessions that the member knows of. */
    readonly sessions: number;
  };
  /** The load of the last minutes. */
  readonly history: LoadHistory;
}
