/**
 * The status of a member: its identity, its cluster, the load of the last minutes, and the parts it has
 * (INTERFACE: status). Tested by monitoring-actions.spec.ts.
 */
import { VERSION } from '../base/program-version.ts';
import type { Cluster, MemberInfo } from '../cluster/cluster.ts';
import { healthReport, memberReports } from '../surface/cluster-reports.ts';
import type { Dialect } from '../surface/dialect.ts';
import type { LoadHistory } from './history.ts';

/** The persistence of a member. Times are in ms since 1970. */
export interface PersistenceStatus {
  readonly sync: string;
  readonly logBytes: number;
  readonly snapshotTime: number | null;
  readonly diskFull: boolean;
  readonly diskFailed: boolean;
}

/** The groups, METADATA included, and the sessions that the member knows of. */
interface CpStatus {
  readonly groups: number;
  readonly sessions: number;
}

export interface StatusSources {
  readonly cluster: Cluster;
  readonly dialect: Dialect;
  readonly clusterName: string;
  readonly instanceName: () => string;
  /** Number of open connections of clients. */
  readonly connectionCount: () => number;
  readonly inFlightBytes: () => number;
  /** The engine, if it stores the data in this member. */
  readonly stored: { readonly memoryBytes: number; readonly memoryBytesMax: number } | undefined;
  readonly persistence: () => PersistenceStatus | undefined;
  readonly cp: () => CpStatus;
  /** The publishers of WAN replications, with the events that wait. */
  readonly publishers: () => readonly { readonly queueSize: number }[];
}

/** The members of the body, in their order. */
export interface MemberStatus {
  readonly member: {
    readonly name: string;
    readonly uuid: string | null;
    readonly address: string | null;
    readonly version: string;
    readonly startTime: number;
  };
  readonly cluster: {
    readonly name: string;
    readonly state: string;
    readonly members: readonly MemberInfo[];
  };
  readonly health: ReturnType<typeof healthReport>;
  readonly http: { readonly connections: number; readonly inFlightBytes: number };
  readonly memory: {
    readonly usedBytes: number | null;
    readonly limitBytes: number | null;
    readonly residentBytes: number;
  };
  readonly persistence: PersistenceStatus | null;
  readonly wan: { readonly publishers: number; readonly queuedEvents: number } | null;
  readonly cp: CpStatus;
  readonly history: LoadHistory;
}

/** `startTime`: the start of the member, in ms since 1970. `history`: the load of the last minutes. */
export function memberStatus(
  sources: StatusSources,
  startTime: number,
  history: LoadHistory,
): MemberStatus {
  const { cluster, dialect, clusterName, stored } = sources;
  const members = memberReports(cluster, dialect);
  const own = members.find(({ localMember }) => localMember);
  const publishers = sources.publishers();
  const queuedEvents = publishers.reduce((sum, { queueSize }) => sum + queueSize, 0);
  return {
    member: {
      name: sources.instanceName(),
      uuid: own?.uuid ?? null,
      address: own?.address ?? null,
      version: VERSION,
      startTime,
    },
    cluster: { name: clusterName, state: cluster.state, members },
    health: healthReport(cluster),
    http: { connections: sources.connectionCount(), inFlightBytes: sources.inFlightBytes() },
    memory: {
      usedBytes: stored?.memoryBytes ?? null,
      limitBytes: stored?.memoryBytesMax ?? null,
      residentBytes: process.memoryUsage.rss(),
    },
    persistence: sources.persistence() ?? null,
    wan: publishers.length === 0 ? null : { publishers: publishers.length, queuedEvents },
    cp: sources.cp(),
    history,
  };
}
