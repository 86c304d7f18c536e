/**
 * Cluster status and instance name (seed section 2, group CLUSTER_READ). Tested by surface/surface.spec.ts.
 */
import { respondJson } from '../surface/json.ts';
import type { Call } from '../surface/route.ts';

export function cluster(call: Call): void {
  const { cluster: status, dialect, telemetry } = call.services;
  const members = status.members.map((member) => ({
    address: dialect.formatAddress(member.address),
    liteMember: member.liteMember,
    localMember: member.localMember,
    uuid: member.uuid,
    memberVersion: member.memberVersion,
  }));
  const connectionCount = telemetry.connectionCount();
  const allConnectionCount = telemetry.allConnectionCount();
  respondJson(call, { members, connectionCount, allConnectionCount });
}

export function instance(call: Call): void {
  respondJson(call, { name: call.services.administration.instanceName() });
}
