/**
 * Network partitions between servers and members under load, SOAK_ROUNDS rounds of each kind. Needs
 * root and `ip` (Debian package iproute2).
 */
import { HEARTBEAT_SECONDS } from './servers/fault-cluster.ts';
import { faultRounds } from './servers/fault-round.ts';

faultRounds({
  name: 'a primary is partitioned from the members',
  isOnNetwork: true,
  brokenMs: 8000,
  isWithoutFailover: true,
  async break(cluster, range) {
    const network = cluster.network!;
    const { primary } = await cluster.pairOf(range);
    for (const { place } of cluster.members) network.cut(primary.place.host, place.host);
    return { range, repair: () => network.heal() };
  },
});

faultRounds({
  name: 'a primary is partitioned from its replica',
  isOnNetwork: true,
  brokenMs: 8000,
  async break(cluster, range) {
    const network = cluster.network!;
    const { primary, replica } = await cluster.pairOf(range);
    network.cut(primary.place.host, replica.place.host);
    return { range, repair: () => network.heal() };
  },
});

faultRounds({
  name: 'a member is partitioned from all servers',
  isOnNetwork: true,
  brokenMs: HEARTBEAT_SECONDS * 1000 + 3000,
  async break({ members, group, network }, member) {
    const { host } = members[member]!.place;
    for (const { place } of group.servers) network!.cut(host, place.host);
    return { member, repair: () => network!.heal() };
  },
});

faultRounds({
  name: 'a member is partitioned from servers and clients',
  isOnNetwork: true,
  mayLosePolled: true,
  brokenMs: HEARTBEAT_SECONDS * 1000 + 3000,
  async break({ members, group, network }, member) {
    const { host } = members[member]!.place;
    for (const { place } of group.servers) network!.cut(host, place.host);
    network!.cut(host, network!.ownHost);
    return { member, repair: () => network!.heal() };
  },
});
