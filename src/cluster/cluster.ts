/**
 * What a member knows of its cluster: one seam for a member on its own and for members on a
 * distributed engine.
 */

/** The states that can be asked for; IN_TRANSITION is that of a change under way. */
export const CLUSTER_STATES = ['ACTIVE', 'NO_MIGRATION', 'FROZEN', 'PASSIVE'] as const;

export type SettledState = (typeof CLUSTER_STATES)[number];
export type ClusterState = SettledState | 'IN_TRANSITION';
export type NodeState = 'STARTING' | 'ACTIVE' | 'PASSIVE' | 'SHUT_DOWN';

/** A member of the cluster (seed section 2). */
export interface MemberInfo {
  /** `host:port`, an IPv6 host in brackets. */
  readonly address: string;
  readonly liteMember: boolean;
  /** Whether it is the member that was asked. */
  readonly localMember: boolean;
  readonly uuid: string;
  readonly memberVersion: string;
}

export interface Cluster {
  readonly state: ClusterState;
  readonly nodeState: NodeState;
  /** Whether losing one member would lose nothing that a single copy does not. */
  readonly isSafe: boolean;
  /** Partitions that are still to move between members. */
  readonly migrationQueueSize: number;
  /** The local member first. */
  readonly members: readonly MemberInfo[];
  /** Whether the member has started and does not drain. */
  readonly isReady: boolean;
  /** `major.minor`. */
  readonly version: string;
  /** Whether data may be changed: not while PASSIVE. */
  readonly takesWrites: boolean;
  /**
   * Resolves when every member is in the state. Rejects with GridError STATE_UNCHANGED,
   * STATE_CHANGING while another change is under way, or STATE_NOT_REACHED; then the old state stays.
   */
  changeState(state: SettledState): Promise<void>;
  /** Resolves when the cluster has the version. Rejects with GridError VERSION_NOT_SUPPORTED. */
  changeVersion(version: string): Promise<void>;
}

/** Where a member keeps what outlives it: the states and versions that were changed to. */
export interface ClusterRecord {
  /** Resolves once the state would be there after a crash. */
  saveState(state: SettledState): Promise<void>;
}

/** Waits for an item of a queue, which a cluster that takes no changes does not give. */
export interface Waiter {
  /** The cluster takes no changes any more. */
  endWait(): void;
}
