/** A member without HTTP: an engine on servers and its membership of a cluster. */
import type { Clock } from '../../../src/base/clock.ts';
import { SharedCluster } from '../../../src/cluster/shared-cluster.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { commonConfig } from '../../cluster/cluster-world.ts';
import { Asker } from '../results.ts';

export interface JoinedMember {
  readonly engine: RedisEngine;
  readonly asker: Asker;
  readonly cluster: SharedCluster;
  /** Events that the membership has reported. */
  readonly reports: string[];
  end(): Promise<void>;
}

interface MemberSettings {
  readonly uuid: string;
  readonly leaseMs: number;
}

/** A member that is joining its cluster; `joined` resolves when it has joined. */
export function joiningMember(
  engine: RedisEngine,
  clock: Clock,
  { uuid, leaseMs }: MemberSettings,
): { readonly member: JoinedMember; readonly joined: Promise<void> } {
  const reports: string[] = [];
  const cluster = new SharedCluster({
    ...{ store: engine.membershipStore, work: engine, clock, uuid },
    ...{ memberVersion: '1.2.3', isLite: false, leaseMs, commonConfig: commonConfig() },
    events: {
      onJoined: (joinNumber) => reports.push(`joined ${joinNumber}`),
      onWaiting: (reason) => reports.push(reason),
      onOut: () => reports.push('out'),
      onUnreachable: () => reports.push('away'),
      onReachable: () => reports.push('back'),
      onNotRemoved: () => reports.push('not removed'),
    },
    isDataSafe: () => engine.isDataSafe,
    onStop: (because) => reports.push(because),
  });
  engine.attach(cluster);
  const joined = cluster.start(`host-${uuid}:5701`, async () => {});
  const end = async (): Promise<void> => {
    await cluster.leave();
    await engine.close();
  };
  return { member: { engine, asker: new Asker(engine), cluster, reports, end }, joined };
}

export async function joinedMember(
  engine: RedisEngine,
  clock: Clock,
  settings: MemberSettings,
): Promise<JoinedMember> {
  const { member, joined } = joiningMember(engine, clock, settings);
  await joined;
  return member;
}
