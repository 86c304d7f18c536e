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
  /** The member: its uuid and address are null until it has joined. Times are in ms since 1970. */
  readonly member: {
    readonly name: string;
    readonly uuid: string | null;
    readonly address: string | null;
    readonly version: string;
    readonly startTime: number;
  };
  /** The cluster, with its members in the order in which they joined. */
  readonly cluster: {
    readonly name: string;
    readonly state: ClusterState;
    readonly members: readonly MemberInfo[];
  };
  /** The health, as its path over HTTP reports it. */
  readonly health: {
    readonly nodeState: NodeState;
    readonly clusterState: ClusterState;
    readonly clusterSafe: boolean;
    readonly migrationQueueSize: number;
    readonly clusterSize: number;
  };
  /** Open connections of clients, and the bytes of requests and responses in progress. */
  readonly http: { readonly connections: number; readonly inFlightBytes: number };
  /** Memory in bytes: of stored data and its limit, null if servers store it, and of the process. */
  readonly memory: {
    readonly usedBytes: number | null;
    readonly limitBytes: number | null;
    readonly residentBytes: number;
  };
  /** Null without persistence. */
  readonly persistence: PersistenceStatus | null;
  /** WAN publishers, and the events that wait in their queues; null without publishers. */
  readonly wan: { readonly publishers: number; readonly queuedEvents: number } | null;
  /** CP groups, METADATA included, and the sessions that the member knows of. */
  readonly cp: { readonly groups: number; readonly sessions: number };
  readonly history: LoadHistory;
}
