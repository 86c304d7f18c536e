/**
 * What a member knows of its cluster: one seam for a member on its own and for members on a
 * distributed engine.
 */

export type ClusterState = 'ACTIVE' | 'NO_MIGRATION' | 'FROZEN' | 'PASSIVE' | 'IN_TRANSITION';
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
  /** Whether the member has started, reaches its engine and does not drain. */
  readonly isReady: boolean;
}
