/**
 * The cluster of a member, as its part: of this member only, or of the members that share an engine.
 * Requests behave the same in both.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { reasonOf } from '../base/errors.ts';
import type { Part } from '../base/part.ts';
import type { Engine } from '../engine/engine.ts';
import type { Log } from '../telemetry/log.ts';
import { clusterVersion, type OwnCluster, type Waiter } from './cluster.ts';
import { reportCluster } from './cluster-metrics.ts';
import { License } from './license.ts';
import type { ChangeWork, CommonConfig, MemberLife, MembershipEvents } from './membership.ts';
import type { MembershipStore } from './membership-store.ts';
import { LocalRecord, type SharedRecord, type SharedValues } from './shared-record.ts';
import { StandaloneCluster } from './standalone.ts';

/** The stored identity of a single member: its uuid, and the values of its cluster. */
export interface StoredMember {
  readonly uuid: string;
  readonly values: Omit<SharedValues, 'tcpIpMembers'>;
}

/** Stores a single member. */
export interface MemberStore {
  /** Whether acknowledged changes would survive a crash of this member. */
  readonly isSafe: boolean;
  /**
   * Returns the stored identity; `own` is that of a member that has stored nothing. Called once, when
   * the store has been restored.
   */
  restored(own: StoredMember): StoredMember;
  /** Resolves once the values would survive a crash. */
  save(values: SharedValues): Promise<void>;
}

type ReachableEngine = Pick<Engine, 'isReachable'>;

/** The cluster's view of an engine that several members share. */
interface SharedEngine extends ChangeWork, ReachableEngine {
  readonly membershipStore: MembershipStore;
  /** Whether changes are replicated as configured. */
  readonly isDataSafe: boolean;
  /** Called once before the engine is opened, with the member's uuid, join number and lease. */
  attach(life: MemberLife): void;
}

export interface ClusterPart extends Part<unknown> {
  readonly cluster: OwnCluster;
  readonly record: SharedRecord;
  readonly license: License;
  /** Waiting polls. */
  readonly waiting: Set<Waiter>;
}

interface ClusterOptions {
  readonly clusterName: string;
  /** Returns the name of the member, once it listens. */
  readonly instanceName: () => string;
  readonly engine: ReachableEngine;
  /** The version that the member reports. */
  readonly memberVersion: string;
  readonly isLite: boolean;
  /** Returns the address that the member reports as its own, once it listens. */
  readonly addressOf: () => string;
  /** Ends the member. The argument is logged. */
  readonly onStop: (because: string) => void;
}

interface SharedClusterOptions extends ClusterOptions {
  readonly engine: SharedEngine;
  /** Time without a heartbeat after which a member is removed, in ms. */
  readonly leaseMs: number;
  readonly commonConfig: CommonConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the member has joined, before it serves. */
  readonly prepare: () => Promise<void>;
}

/** Creates the cluster of a single member, which `store` stores; undefined: nothing is stored. */
export function standaloneCluster(
  options: ClusterOptions,
  store: MemberStore | undefined,
): ClusterPart & { readonly cluster: StandaloneCluster } {
  const { memberVersion, isLite, addressOf, onStop } = options;
  const record = new LocalRecord(clusterVersion(memberVersion), async (values) =>
    store?.save(values),
  );
  const isDataSafe = (): boolean => store?.isSafe ?? true;
  const cluster = new StandaloneCluster(memberVersion, record, { isLite, isDataSafe, onStop });
  return {
    ...partOf(options, cluster, record),
    cluster,
    async restore() {
      if (store === undefined) return;
      const { uuid, values } = store.restored({ uuid: cluster.uuid, values: record.values });
      cluster.restore(uuid);
      record.restore(values);
    },
    enter: async () => cluster.start(addressOf()),
  };
}

/** Creates the shared cluster. Its code is only loaded if several members share an engine. */
export async function sharedCluster(options: SharedClusterOptions): Promise<ClusterPart> {
  const { memberVersion, isLite, addressOf, onStop, engine, leaseMs, clock, log } = options;
  const { commonConfig } = options;
  const { SharedCluster } = await import('./shared-cluster.ts');
  const cluster = new SharedCluster({
    store: engine.membershipStore,
    clock,
    work: engine,
    memberVersion,
    isLite,
    isDataSafe: () => engine.isDataSafe,
    onStop,
    events: eventsIn(log),
    uuid: randomUUID(),
    commonConfig,
    leaseMs,
  });
  engine.attach(cluster);
  return {
    ...partOf(options, cluster, cluster.record),
    enter: () => cluster.start(addressOf(), options.prepare),
  };
}

function partOf(
  { clusterName, instanceName, engine }: ClusterOptions,
  cluster: OwnCluster,
  record: SharedRecord,
): ClusterPart {
  const waiting = new Set<Waiter>();
  cluster.onPassive = () => {
    for (const waiter of waiting) waiter.endWait();
  };
  return {
    cluster,
    record,
    license: new License(record),
    waiting,
    drain: async () => cluster.stop(),
    figures(to) {
      const isReady = cluster.isReady && engine.isReachable;
      reportCluster(to, cluster, isReady, [clusterName, instanceName()]);
    },
    close: () => cluster.leave(),
  };
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
    onNotRemoved: (error) =>
      log.warn(`listed as a member until its lease ends: the leave failed: ${reasonOf(error)}`),
  };
}
