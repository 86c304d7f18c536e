/**
 * The status of a member: its identity, its cluster, the load of the last minutes, and the parts it has
 * (INTERFACE: status). Tested by monitoring-actions.spec.ts.
 */
import { VERSION } from '../base/program-version.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { healthReport, memberReports } from '../surface/cluster-reports.ts';
import type { Dialect } from '../surface/dialect.ts';
import type { LoadHistory, MemberStatus, PersistenceStatus } from './status-report.ts';

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
  readonly cp: () => MemberStatus['cp'];
  /** The publishers of WAN replications, with the events that wait. */
  readonly publishers: () => readonly { readonly queueSize: number }[];
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
