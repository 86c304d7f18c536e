/** The cluster of a member that is on its own: always one member, always safe. */
import { randomUUID } from 'node:crypto';
import type { Cluster, ClusterState, MemberInfo, NodeState } from './cluster.ts';

export class StandaloneCluster implements Cluster {
  readonly state: ClusterState = 'ACTIVE';
  readonly isSafe = true;
  readonly migrationQueueSize = 0;
  nodeState: NodeState = 'STARTING';
  members: readonly MemberInfo[] = [];
  isReady = false;
  readonly #uuid = randomUUID();

  /** The member serves at `address`, in the form of MemberInfo. */
  start(address: string, memberVersion: string): void {
    this.members = [
      { address, liteMember: false, localMember: true, uuid: this.#uuid, memberVersion },
    ];
    this.nodeState = 'ACTIVE';
    this.isReady = true;
  }

  /** The member drains. */
  stop(): void {
    this.isReady = false;
  }
}
