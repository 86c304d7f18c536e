/** Cluster status and instance name (seed section 2, group CLUSTER_READ). */
import { respondJson } from './json.ts';
import type { RestHandler } from './rest-handler.ts';

export function cluster(handler: RestHandler): void {
  const { cluster: known, connectionCount, dialect } = handler.services;
  const members = known.members.map((member) => ({
    address: dialect.tellAddress(member.address),
    liteMember: member.liteMember,
    localMember: member.localMember,
    uuid: member.uuid,
    memberVersion: member.memberVersion,
  }));
  const count = connectionCount();
  respondJson(handler, { members, connectionCount: count, allConnectionCount: count });
}

export function instance(handler: RestHandler): void {
  respondJson(handler, { name: handler.services.instanceName() });
}
