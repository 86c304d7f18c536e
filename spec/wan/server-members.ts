/** The members of a cluster on fake servers, which send to other clusters. */
import type { MemberInfo } from '../../src/cluster/cluster.ts';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import { LATEST_UPDATE } from '../../src/engine/merge-policy.ts';
import { setVersion } from '../../src/engine/redis/partition-clock.ts';
import type { Version } from '../../src/engine/version.ts';
import { ServerReplications } from '../../src/wan/server-replications.ts';
import type { WanPublisherOptions } from '../../src/wan/wan-config.ts';
import type { NamedMapRef } from '../../src/wan/wan-maps.ts';
import type { TransportResponse } from '../../src/wan/wan-transport.ts';
import { MemberClock } from '../world/member-clock.ts';
import { FakeServers } from './fake-marks.ts';
import { endpoint, Network, OPTIONS, RecordedLog } from './members.ts';

/** The members of a cluster. */
export class ServerCluster {
  readonly network: Network;
  readonly servers: FakeServers;
  readonly record = new LocalRecord('1.0');
  readonly publishers: readonly WanPublisherOptions[];
  /** Merge policy of the maps' references. */
  policy = LATEST_UPDATE as number;
  readonly members: ServerMember[] = [];
  /** The hash trees of every map. */
  tree = { isOn: true, depth: 10 };
  /** Returns the reference of a map. */
  refOf = (map: string): NamedMapRef | undefined =>
    map.startsWith('own')
      ? undefined
      : {
          replication: 'r',
          policy: this.policy,
          republishing: true,
          accepts: (key) => !key.toBuffer().toString().startsWith('not'),
        };

  constructor(
    network: Network,
    publishers: readonly WanPublisherOptions[],
    partitionCount?: number,
  ) {
    this.network = network;
    this.servers = new FakeServers(network.clock, partitionCount);
    this.publishers = publishers;
  }

  /** Adds a member that starts; the others learn of it at once. */
  join(name: string): ServerMember {
    const member = new ServerMember(this, name);
    this.members.push(member);
    this.tellAll();
    member.replications.begin();
    return member;
  }

  /** Removes a member from the list of the others. */
  remove(member: ServerMember): void {
    this.members.splice(this.members.indexOf(member), 1);
    this.tellAll();
  }

  tellAll(): void {
    for (const member of this.members) member.sees(this.members);
  }
}

export class ServerMember {
  readonly name: string;
  readonly log = new RecordedLog();
  readonly replications: ServerReplications;
  readonly engine: ReturnType<FakeServers['member']>;
  readonly isDown = false;
  /** The cluster as it sees it. */
  readonly view: { members: MemberInfo[]; isCutOff: boolean } = { members: [], isCutOff: false };
  /** Versions that it has observed. */
  readonly observed: Version[] = [];

  constructor(cluster: ServerCluster, name: string, aheadMs = 0) {
    const { network, servers, record, publishers } = cluster;
    this.name = name;
    const clock = new MemberClock(network.clock, { wallAheadMs: aheadMs });
    this.engine = servers.member(clock);
    this.replications = new ServerReplications({
      changes: this.engine,
      changedPartitions: this.engine,
      engine: {
        observe: (version) => void this.observed.push(version),
        now: (version) => setVersion(version, clock.wall() * 1000),
      },
      cluster: this.view,
      record,
      maps: {
        hasReferences: true,
        treeOf: () => cluster.tree,
        refOf: (map) => cluster.refOf(map.toString()),
      },
      transportOf: () => network.transportOf(this),
      clock,
      log: this.log,
      random: network.random,
    });
    this.replications.add('r', publishers);
  }

  get status() {
    return this.replications.publishers()[0]!;
  }

  get control() {
    return this.replications.publisherOf('r', 'p');
  }

  /** Sets the members that it sees. */
  sees(members: readonly ServerMember[]): void {
    this.view.members = members.map(({ name }) => ({
      address: name,
      liteMember: false,
      localMember: name === this.name,
      uuid: name,
      memberVersion: '1.0.0',
    }));
  }

  /** Ends it without notice: nothing that it began continues. */
  kill(): void {
    this.engine.isKilled = true;
    void this.replications.close(0);
  }

  async receive(): Promise<TransportResponse> {
    throw new Error('this member receives nothing');
  }
}

/** Returns a cluster of members `s0`, `s1` and so on that publishes to `b`. */
export function clusterOf(count: number, options: Partial<WanPublisherOptions> = {}) {
  const network = new Network();
  const cluster = new ServerCluster(network, [
    { ...OPTIONS, ...options, targetEndpoints: options.targetEndpoints ?? [endpoint('b')] },
  ]);
  const members = Array.from({ length: count }, (_, number) => cluster.join(`s${number}`));
  return { network, cluster, members, servers: cluster.servers };
}
