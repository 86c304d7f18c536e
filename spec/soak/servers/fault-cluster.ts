/**
 * The cluster of a round: three members on a Redis Cluster of three primaries with a replica each,
 * set up as docs/several-members.md describes. Each server and member is a process, in a network
 * namespace of its own if there is a network.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Span } from '../../../src/base/span.ts';
import { Layout } from '../../../src/engine/redis/layout.ts';
import { fieldsIn } from '../../../src/engine/redis/server-info.ts';
import {
  freePorts,
  type GroupServer,
  type Place,
  type ServerGroup,
  startCluster,
} from '../../peers/server-group.ts';
import { until } from '../../peers/server-process.ts';
import { FaultMember } from './fault-member.ts';
import { Network } from './network.ts';

const SERVERS = 6;
const MEMBERS = 3;
const PARTITIONS = 271;
/** Silence after which a member is removed from the cluster, in s. */
export const HEARTBEAT_SECONDS = 5;
const SERVER_OPTIONS = {
  '--appendonly': 'yes',
  '--min-replicas-to-write': '1',
  '--cluster-require-full-coverage': 'no',
  '--repl-diskless-sync-delay': '0',
};
const SERVER_WORDS = Object.entries(SERVER_OPTIONS).flat();

interface ClusterOptions {
  readonly isOnNetwork: boolean;
  /** Number of replicas that must confirm a change; undefined for the default. */
  readonly backupCount?: number;
  /** Time to live of CP sessions; undefined without CP calls. */
  readonly sessionSeconds?: number;
  /** Ports of the members; three free ones if undefined. */
  readonly ports?: readonly number[];
  /** WAN replication and maps, below `grid`. */
  readonly wan?: Readonly<Record<string, unknown>>;
}

export class FaultCluster {
  readonly group: ServerGroup;
  readonly members: readonly FaultMember[];
  readonly network: Network | undefined;
  /** Number of members that the caller has added. */
  addedMembers = 0;
  readonly #folder: string;
  readonly #layout = new Layout('any', PARTITIONS);
  /** First slot of each primary, in ascending order. */
  #firstSlots: readonly number[] = [];

  private constructor(
    group: ServerGroup,
    members: readonly FaultMember[],
    network: Network | undefined,
    folder: string,
  ) {
    this.group = group;
    this.members = members;
    this.network = network;
    this.#folder = folder;
  }

  static async start({
    isOnNetwork,
    backupCount,
    sessionSeconds,
    ports,
    wan,
  }: ClusterOptions): Promise<FaultCluster> {
    const network = isOnNetwork ? new Network(SERVERS + MEMBERS) : undefined;
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-faults-'));
    let group: ServerGroup | undefined;
    const members: FaultMember[] = [];
    try {
      group = await startCluster(SERVER_WORDS, network?.places.slice(0, SERVERS) ?? []);
      const file = join(folder, 'grid.yaml');
      const { url } = group;
      const names = { clusterName: 'faults', heartbeatSeconds: HEARTBEAT_SECONDS };
      writeFileSync(file, configuration({ ...names, url, backupCount, sessionSeconds, wan }));
      for (const [index, port] of (ports ?? (await freePorts(MEMBERS))).entries()) {
        const place: Place = network?.places[SERVERS + index] ?? { host: '127.0.0.1', runner: [] };
        members.push(new FaultMember(place, port, ['--config', file]));
      }
      const cluster = new FaultCluster(group, members, network, folder);
      for (const member of members) await member.start();
      cluster.#firstSlots = (await cluster.#rows()).map(([first]) => first);
      return cluster;
    } catch (error) {
      await Promise.all(members.map((member) => member.kill()));
      await group?.end();
      network?.end();
      throw error;
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()));
    await this.group.end();
    this.network?.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Returns the index of the slot range that has the key. */
  rangeOf(key: string): number {
    const bytes = Buffer.from(key);
    const span = new Span().set(bytes, 0, bytes.length);
    const slot = this.#layout.slotOf(this.#layout.partitionOf(span));
    return this.#firstSlots.findLastIndex((first) => first <= slot);
  }

  /** Resolves when all servers and members run and see each other. */
  async untilHealthy(): Promise<void> {
    await until(() => this.isReplicated());
    await until(async () => {
      const lists = await Promise.all(this.members.map((member) => member.memberList()));
      const count = this.members.length + this.addedMembers;
      if (new Set(lists).size !== 1 || lists[0]?.split(' ').length !== count) return false;
      const ready = await Promise.all(this.members.map((member) => member.isReady()));
      return ready.every((isReady) => isReady);
    });
  }

  /**
   * Whether there are three primaries, each with a replica that confirms changes, and no server
   * reports a failure.
   */
  async isReplicated(): Promise<boolean> {
    const { servers } = this.group;
    const states = await Promise.all(
      servers.map(async (server) => {
        const replication = fieldsIn(await server.ask('INFO', 'replication'));
        const state = fieldsIn(await server.ask('CLUSTER', 'INFO')).get('cluster_state');
        const nodes = `${await server.ask('CLUSTER', 'NODES')}`;
        return { replication, isOk: state === 'ok' && !nodes.includes('fail') };
      }),
    );
    const primaries = states.filter(({ replication }) => replication.get('role') === 'master');
    return (
      states.every(({ isOk }) => isOk) &&
      primaries.length === SERVERS / 2 &&
      primaries.every(({ replication }) => isConfirmed(replication))
    );
  }

  /** Resolves when the primary of the range has its replica again, or at once without a range. */
  async untilReplicated(range: number | undefined): Promise<void> {
    if (range === undefined) return;
    await until(async () => {
      const { primary } = await this.pairOf(range);
      return isConfirmed(fieldsIn(await primary.ask('INFO', 'replication')));
    });
  }

  /** Returns the primary of the range and its replica. */
  async pairOf(range: number): Promise<{ primary: GroupServer; replica: GroupServer }> {
    const rows = await this.#rows();
    const [, , primary, replica] = rows[range] as SlotRow;
    const at = (port: number) => this.group.servers.find((server) => server.port === port)!;
    return { primary: at(primary[1]), replica: at(replica[1]) };
  }

  async #rows(): Promise<SlotRow[]> {
    for (const server of this.group.servers) {
      const rows = await server.ask('CLUSTER', 'SLOTS').catch(() => undefined);
      if (Array.isArray(rows)) return (rows as SlotRow[]).sort((a, b) => a[0] - b[0]);
    }
    throw new Error('no server returns the slots');
  }
}

/** First slot, last slot, primary and replica. */
type SlotRow = readonly [number, number, SlotNode, SlotNode];
type SlotNode = readonly [string, number, string];

/** Whether the server is a primary with a replica that confirms changes. */
function isConfirmed(replication: ReadonlyMap<string, string>): boolean {
  if (replication.get('role') !== 'master') return false;
  return /state=online,.*lag=[01]\b/.test(replication.get('slave0') ?? '');
}

interface ConfigurationOptions {
  readonly clusterName: string;
  readonly url: string;
  readonly heartbeatSeconds: number;
  /** Number of replicas that must confirm a change; undefined for the default. */
  readonly backupCount?: number | undefined;
  readonly publicAddress?: string;
  /** Time to live of CP sessions; undefined without CP calls. */
  readonly sessionSeconds?: number | undefined;
  /** WAN replication and maps, below `grid`. */
  readonly wan?: Readonly<Record<string, unknown>> | undefined;
}

/** Returns the text of the configuration of a member. */
export function configuration(options: ConfigurationOptions): string {
  const { clusterName, url, heartbeatSeconds, backupCount, publicAddress } = options;
  const { sessionSeconds, wan } = options;
  const counts = { default: { 'backup-count': backupCount } };
  const groups = ['HEALTH_CHECK', 'CLUSTER_READ', 'CLUSTER_WRITE', 'DATA'];
  if (sessionSeconds !== undefined) groups.push('CP');
  if (wan !== undefined) groups.push('WAN');
  const enabled = groups.map((group) => [group, { enabled: true }]);
  const rest = { enabled: true, 'endpoint-groups': Object.fromEntries(enabled) };
  const grid = {
    'cluster-name': clusterName,
    engine: { url, 'max-no-heartbeat-seconds': heartbeatSeconds },
    network: { 'public-address': publicAddress, 'rest-api': rest },
    ...(backupCount !== undefined && { map: counts, queue: counts }),
    ...wan,
    'cp-subsystem': { 'session-time-to-live-seconds': sessionSeconds },
  };
  return JSON.stringify({ grid });
}
