/**
 * Health and members of the cluster, as several paths return them.
 * Tested by health/health-actions.spec.ts.
 */
import type { Cluster, MemberInfo } from '../cluster/cluster.ts';
import type { Dialect } from './dialect.ts';

export function healthReport(cluster: Cluster) {
  return {
    nodeState: cluster.nodeState,
    clusterState: cluster.state,
    clusterSafe: cluster.isSafe,
    migrationQueueSize: cluster.migrationQueueSize,
    clusterSize: cluster.members.length,
  };
}

export function memberReports(
  { members }: Pick<Cluster, 'members'>,
  dialect: Dialect,
): MemberInfo[] {
  return members.map((member) => ({
    address: dialect.formatAddress(member.address),
    liteMember: member.liteMember,
    localMember: member.localMember,
    uuid: member.uuid,
    memberVersion: member.memberVersion,
  }));
}
