/**
 * The start phase that creates the member's cluster: of this member only, or of the members that
 * share an engine. Requests behave the same in both.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { reasonOf } from '../base/errors.ts';
import type { MemberEngine, SharedEngine } from '../engine/engine-part.ts';
import type { Log } from '../telemetry/log.ts';
import { clusterVersion, type OwnCluster, type Waiter } from './cluster.ts';
import { License } from './license.ts';
import type { MembershipEvents } from './membership.ts';
import { LocalRecord, type SharedRecord } from './shared-record.ts';
import { StandaloneCluster } from './standalone.ts';

/** The cluster and the objects that belong to it. */
export interface ClusterParts {
  readonly cluster: OwnCluster;
  readonly record: SharedRecord;
  /** The cluster and record of a single member; undefined if members share an engine. */
  readonly standalone:
    | { readonly cluster: StandaloneCluster; readonly record: LocalRecord }
    | undefined;
  readonly license: License;
  /** Waiting polls. */
  readonly waiting: Set<Waiter>;
}

interface ClusterSettings {
  /** The version that the member reports. */
  readonly memberVersion: string;
  readonly isLite: boolean;
  /** Time without a heartbeat after which a member is removed, in ms. */
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the member. The argument is logged. */
  readonly onStop: (because: string) => void;
}

export async function makeCluster(
  settings: ClusterSettings,
  engine: MemberEngine,
): Promise<ClusterParts> {
  const { shared } = engine;
  const made =
    shared === undefined
      ? standaloneCluster(settings, engine)
      : await sharedCluster(settings, shared);
  const waiting = new Set<Waiter>();
  made.cluster.onPassive(() => {
    for (const waiter of waiting) waiter.endWait();
  });
  return { ...made, license: new License(made.record), waiting };
}

type MadeCluster = Pick<ClusterParts, 'cluster' | 'record' | 'standalone'>;

function standaloneCluster(
  { memberVersion, isLite, onStop }: ClusterSettings,
  { persistence }: MemberEngine,
): MadeCluster {
  const record = new LocalRecord(clusterVersion(memberVersion), async (values) =>
    persistence?.save(values),
  );
  const isDataSafe = (): boolean => persistence?.isSafe ?? true;
  const cluster = new StandaloneCluster(memberVersion, record, { isLite, isDataSafe, onStop });
  return { cluster, record, standalone: { cluster, record } };
}

/** Creates the shared cluster. Its code is only loaded if several members share an engine. */
async function sharedCluster(
  { memberVersion, isLite, leaseMs, clock, log, onStop }: ClusterSettings,
  { store, work, isDataSafe, attach }: SharedEngine,
): Promise<MadeCluster> {
  const { SharedCluster } = await import('./shared-cluster.ts');
  const cluster = new SharedCluster({
    store,
    clock,
    work,
    memberVersion,
    isLite,
    isDataSafe,
    onStop,
    events: eventsIn(log),
    uuid: randomUUID(),
    leaseMs,
  });
  attach(cluster);
  return { cluster, record: cluster.record, standalone: undefined };
}

function eventsIn(log: Log): MembershipEvents {
  return {
    onJoined: (joinNumber, memberCount) =>
      log.info({ joinNumber, memberCount }, 'joined the cluster'),
    onWaiting: (reason) => log.warn(`not in the cluster yet: ${reason}; trying again`),
    onOut: () =>
      log.error('out of the cluster, as this member was silent for too long; joining again'),
    onUnreachable: (error) =>
      log.error({ err: error }, `the cluster's store does not answer: ${reasonOf(error)}`),
    onReachable: () => log.info("the cluster's store answers again"),
  };
}
