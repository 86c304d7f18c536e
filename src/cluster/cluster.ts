/**
 * The cluster as a member sees it: one interface for a single member and for members on a distributed
 * engine.
 */

/** The states that a request can set; IN_TRANSITION is the state during a change. */
export const CLUSTER_STATES = ['ACTIVE', 'NO_MIGRATION', 'FROZEN', 'PASSIVE'] as const;

export type SettledState = (typeof CLUSTER_STATES)[number];
export type ClusterState = SettledState | 'IN_TRANSITION';
export type NodeState = 'STARTING' | 'ACTIVE' | 'PASSIVE' | 'SHUT_DOWN';

/** A member of the cluster (seed section 2). */
export interface MemberInfo {
  /** `host:port`, an IPv6 host in brackets. */
  readonly address: string;
  readonly liteMember: boolean;
  /** Whether it is the member that answers. */
  readonly localMember: boolean;
  readonly uuid: string;
  readonly memberVersion: string;
}

export interface Cluster {
  readonly state: ClusterState;
  readonly nodeState: NodeState;
  /** Whether the loss of one member would lose no more than the loss of a single copy does. */
  readonly isSafe: boolean;
  /** Partitions that are still to move between members. */
  readonly migrationQueueSize: number;
  /** In the order joined, the oldest first. */
  readonly members: readonly MemberInfo[];
  /** Whether the member has started and is not draining. */
  readonly isReady: boolean;
  /** `major.minor`. */
  readonly version: string;
  /** Whether data may be changed: not while PASSIVE, nor on the way to it, nor while cut off. */
  readonly takesWrites: boolean;
  /** Whether the member takes no changes because the others may count it as gone. */
  readonly isCutOff: boolean;
  /** Calls each listener whenever data may no longer be changed. */
  onPassive(listener: () => void): void;
  /**
   * Resolves when every member is in the state. Rejects with GridError STATE_UNCHANGED, STATE_CHANGING
   * (while another change is under way) or STATE_NOT_REACHED; the old state then stays.
   */
  changeState(state: SettledState): Promise<void>;
  /** Resolves when the cluster has the version. Rejects with GridError VERSION_NOT_SUPPORTED. */
  changeVersion(version: string): Promise<void>;
}

/** The cluster, with the calls of the member itself. */
export interface OwnCluster extends Cluster {
  /**
   * The member, which serves at `address` (in the form of MemberInfo), enters its cluster; it has started
   * once this has resolved. A cluster that the member had no record of awaits `prepare` before. Rejects
   * with GridError CLUSTER_VERSION.
   */
  start(address: string, prepare: () => Promise<void>): Promise<void> | void;
  /** The member is to drain: it is not ready any more. */
  stop(): void;
  /** The member has drained, or does not start: it leaves. Never rejects. */
  leave(): Promise<void>;
  /**
   * Ends each member; `because` is for the log. Resolves once all will end. Rejects with GridError
   * STOP_NOT_RECORDED.
   */
  stopAll(because: string): Promise<void>;
}

/** The version of a cluster whose members have this version: its `major.minor`. */
export function clusterVersion(memberVersion: string): string {
  return memberVersion.split('.', 2).join('.');
}

/** A request that waits for an item of a queue; a cluster that takes no changes gives it none. */
export interface Waiter {
  /** Called when the cluster takes no more changes. */
  endWait(): void;
}
