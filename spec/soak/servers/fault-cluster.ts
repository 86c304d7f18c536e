/**
 * What the rounds break: three members on a Cluster of three primaries with a replica each, set up as the
 * page on several members says. Each is a process, in a namespace of its own where there is a network.
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
/** A member that is silent for so long is out. */
export const HEARTBEAT_SECONDS = 5;
const SERVER_WORDS = [
  ...['--appendonly', 'yes', '--min-replicas-to-write', '1'],
  ...['--cluster-require-full-coverage', 'no', '--repl-diskless-sync-delay', '0'],
];

interface ClusterOptions {
  readonly isOnNetwork: boolean;
  /** Replicas that must have a change; as many as is usual where it is undefined. */
  readonly backupCount?: number;
}

export class FaultCluster {
  readonly group: ServerGroup;
  readonly members: readonly FaultMember[];
  readonly network: Network | undefined;
  readonly #folder: string;
  readonly #layout = new Layout('any', PARTITIONS);
  /** The first slots of the primaries, rising. */
  #firsts: readonly number[] = [];

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

  static async start({ isOnNetwork, backupCount }: ClusterOptions): Promise<FaultCluster> {
    const network = isOnNetwork ? new Network(SERVERS + MEMBERS) : undefined;
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-faults-'));
    let group: ServerGroup | undefined;
    const members: FaultMember[] = [];
    try {
      group = await startCluster(SERVER_WORDS, network?.places.slice(0, SERVERS) ?? []);
      const file = join(folder, 'grid.yaml');
      writeFileSync(file, configuration(group.url, backupCount));
      for (const [index, port] of (await freePorts(MEMBERS)).entries()) {
        const place: Place = network?.places[SERVERS + index] ?? { host: '127.0.0.1', runner: [] };
        members.push(new FaultMember(place, port, ['--config', file]));
      }
      const cluster = new FaultCluster(group, members, network, folder);
      for (const member of members) await member.start();
      await cluster.#findRanges();
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

  /** Which of the three ranges of slots has the key. */
  rangeOf(key: string): number {
    const bytes = Buffer.from(key);
    const span = new Span().set(bytes, 0, bytes.length);
    const slot = this.#layout.slotOf(this.#layout.partitionOf(span));
    return this.#firsts.findLastIndex((first) => first <= slot);
  }

  /** Resolves when all servers and members are there and see each other. */
  async untilWell(): Promise<void> {
    await until(() => this.isReplicated());
    await until(async () => {
      const lists = await Promise.all(this.members.map((member) => member.memberList()));
      if (new Set(lists).size !== 1 || lists[0]?.split(' ').length !== MEMBERS) return false;
      const ready = await Promise.all(this.members.map((member) => member.isReady()));
      return ready.every((isReady) => isReady);
    });
  }

  /** Whether there are three primaries, each with a replica that confirms, and nobody sees any fault. */
  async isReplicated(): Promise<boolean> {
    const { servers } = this.group;
    const told = await Promise.all(
      servers.map(async (server) => {
        const replication = fieldsIn(await server.ask('INFO', 'replication'));
        const state = fieldsIn(await server.ask('CLUSTER', 'INFO')).get('cluster_state');
        const nodes = `${await server.ask('CLUSTER', 'NODES')}`;
        return { replication, isOk: state === 'ok' && !nodes.includes('fail') };
      }),
    );
    const primaries = told.filter(({ replication }) => replication.get('role') === 'master');
    return (
      told.every(({ isOk }) => isOk) &&
      primaries.length === SERVERS / 2 &&
      primaries.every(({ replication }) => isConfirmed(replication))
    );
  }

  /** Resolves when the primary of the range has its replica again, or where none was lost. */
  async untilReplicated(range: number | undefined): Promise<void> {
    if (range === undefined) return;
    await until(async () => {
      const { primary } = await this.pairOf(range);
      return isConfirmed(fieldsIn(await primary.ask('INFO', 'replication')));
    });
  }

  /** The primary of the range, and its replica. */
  async pairOf(range: number): Promise<{ primary: GroupServer; replica: GroupServer }> {
    const rows = await this.#rows();
    const [, , primary, replica] = rows[range] as SlotRow;
    const at = (port: number) => this.group.servers.find((server) => server.port === port)!;
    return { primary: at(primary[1]), replica: at(replica[1]) };
  }

  async #findRanges(): Promise<void> {
    this.#firsts = (await this.#rows()).map(([first]) => first);
  }

  async #rows(): Promise<SlotRow[]> {
    for (const server of this.group.servers) {
      const rows = await server.ask('CLUSTER', 'SLOTS').catch(() => undefined);
      if (Array.isArray(rows)) return (rows as SlotRow[]).sort((a, b) => a[0] - b[0]);
    }
    throw new Error('no server tells the slots');
  }
}

/** First slot, last slot, primary, replica. */
type SlotRow = readonly [number, number, SlotNode, SlotNode];
type SlotNode = readonly [string, number, string];

/** Whether it is a primary with a replica that confirms. */
function isConfirmed(replication: ReadonlyMap<string, string>): boolean {
  if (replication.get('role') !== 'master') return false;
  return /state=online,.*lag=[01]\b/.test(replication.get('slave0') ?? '');
}

function configuration(url: string, backupCount: number | undefined): string {
  const counts =
    backupCount === undefined
      ? ''
      : `  map: { default: { backup-count: ${backupCount} } }
  queue: { default: { backup-count: ${backupCount} } }
`;
  return `grid:
  cluster-name: faults
  engine:
    url: ${url}
    max-no-heartbeat-seconds: ${HEARTBEAT_SECONDS}
  network:
    rest-api:
      enabled: true
      endpoint-groups:
        HEALTH_CHECK: { enabled: true }
        CLUSTER_READ: { enabled: true }
        DATA: { enabled: true }
${counts}`;
}
