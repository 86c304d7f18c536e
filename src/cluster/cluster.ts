/**
 * The cluster as a member sees it: one interface for a single member and for several members on a
 * distributed engine. Tested by shared-cluster.spec.ts.
 */

/** The states of a cluster that a request can set. */
export type SettledState = 'ACTIVE' | 'NO_MIGRATION' | 'FROZEN' | 'PASSIVE';
/** The states of a cluster; IN_TRANSITION is that during a change. */
export type ClusterState = SettledState | 'IN_TRANSITION';
/** The states of a member. */
export type NodeState = 'STARTING' | 'ACTIVE' | 'PASSIVE' | 'SHUT_DOWN';

/** The states that a request can set. @internal */
export const CLUSTER_STATES: readonly SettledState[] = [
  'ACTIVE',
  'NO_MIGRATION',
  'FROZEN',
  'PASSIVE',
];

/** A member of the cluster. */
export interface MemberInfo {
  /** `host:port`, with an IPv6 host in brackets. */
  readonly address: string;
  /** Whether it stores no data. */
  readonly liteMember: boolean;
  /** Whether this is the member that responds. */
  readonly localMember: boolean;
  /** UUID of the member; new at each start, unless its data directory has one. */
  readonly uuid: string;
  /** Version of the member, `major.minor.patch`. */
  readonly memberVersion: string;
}

/** The cluster of a member. @internal */
export interface Cluster {
  readonly state: ClusterState;
  readonly nodeState: NodeState;
  /** Whether the member has started; until then its node state is STARTING. */
  readonly isStarted: boolean;
  /** Whether the loss of one member would lose no more data than the loss of a single copy. */
  readonly isSafe: boolean;
  /** Number of partitions that remain to be moved between members. */
  readonly migrationQueueSize: number;
  /** The members in the order in which they joined, oldest first. */
  readonly members: readonly MemberInfo[];
  /** Whether the member has started and is not draining. */
  readonly isReady: boolean;
  /** `major.minor`. */
  readonly version: string;
  /**
   * Whether data may be changed: not while PASSIVE, nor during a change to PASSIVE, nor while cut
   * off.
   */
  readonly acceptsWrites: boolean;
  /** Whether the member refuses changes because the other members may already have removed it. */
  readonly isCutOff: boolean;
  /** Called whenever data may no longer be changed. */
  onPassive: () => void;
  /**
   * Resolves when every member is in the state. Rejects with GridError STATE_UNCHANGED,
   * STATE_CHANGING (while another change is in progress) or STATE_NOT_REACHED; the old state then
   * remains.
   */
  changeState(state: SettledState): Promise<void>;
  /** Resolves when the cluster has the version. Rejects with GridError VERSION_NOT_SUPPORTED. */
  changeVersion(version: string): Promise<void>;
}

/** The cluster, with the calls that only the member itself makes. @internal */
export interface OwnCluster extends Cluster {
  /** Called when the member begins to drain: it is no longer ready. */
  stop(): void;
  /** Leaves the cluster. Called when the member has drained, or does not start. Never rejects. */
  leave(): Promise<void>;
  /**
   * Ends every member; `because` is for the log. Resolves once it is certain that all will end.
   * Rejects with GridError STOP_NOT_RECORDED.
   */
  stopAll(because: string): Promise<void>;
}

/** Returns the cluster version of members that have this version: its `major.minor`. @internal */
export function clusterVersion(memberVersion: string): string {
  return memberVersion.split('.', 2).join('.');
}

/**
 * A request that waits for a queue's item; it gets none once the cluster refuses changes. @internal
 */
export interface Waiter {
  /** Called when the cluster no longer accepts changes. */
  endWait(): void;
}
