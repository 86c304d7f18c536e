/**
 * Two and three clusters of both kinds, as processes: a member with persistence, and members on a
 * Redis Cluster whose changes have one replica. They replicate one way under each policy that servers
 * have, and in a ring and a mesh under LatestUpdate. In each of SOAK_ROUNDS rounds of a case, members
 * or primaries are killed (kill -9) or stopped, links are cut, publishers are paused, or a target is
 * away for AWAY_MS; afterwards all clusters must be equal, also some time later, and send nothing any
 * more. SOAK_SEED repeats the choices of a run.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import type { PublisherStatus } from '../../src/wan/wan-status.ts';
import { freePort } from '../free-port.ts';
import { RawClient } from '../integration/client.ts';
import { CuttingProxy } from '../peers/cutting-proxy.ts';
import { until } from '../peers/server-process.ts';
import { type Shape, targetsOf } from '../wan/members.ts';
import { FaultCluster } from './servers/fault-cluster.ts';
import { FaultMember } from './servers/fault-member.ts';
import { MixedLoad } from './wan/mixed-load.ts';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const AWAY_MS = 60_000;
const WARM_MS = 1500;
/** Time for which the load continues after the repair, in ms. */
const AFTER_MS = 1000;
/** Time without events after which nothing circulates, in ms. */
const QUIET_MS = 2500;
const ROUND_MS_MAX = 240_000;

interface Case {
  readonly shape: Shape;
  readonly policy: string;
  /** Number of members of each cluster; 0: it stores its own data. */
  readonly sizes: readonly number[];
}

const CASES: readonly Case[] = [
  { shape: 'chain', policy: 'PassThrough', sizes: [2, 0] },
  { shape: 'chain', policy: 'PutIfAbsent', sizes: [0, 2] },
  { shape: 'chain', policy: 'ExpirationTime', sizes: [2, 1] },
  { shape: 'chain', policy: 'LatestUpdate', sizes: [2, 2] },
  { shape: 'ring', policy: 'LatestUpdate', sizes: [2, 0] },
  { shape: 'ring', policy: 'LatestUpdate', sizes: [2, 0, 1] },
  { shape: 'mesh', policy: 'LatestUpdate', sizes: [0, 2, 2] },
];

/** Returns the configuration of a cluster that sends to these endpoints with a publisher each. */
function wanOf(policy: string, targets: readonly (readonly number[])[], backupCount?: number) {
  const publishers = targets.map((ports, index) => [
    `p${index}`,
    {
      'cluster-name': 'faults',
      'target-endpoints': ports.map((port) => `127.0.0.1:${port}`).join(),
      'batch-max-delay-millis': 20,
      'discovery-period-seconds': 1,
      'response-timeout-millis': 3000,
      'queue-capacity': 1_000_000,
    },
  ]);
  const map = {
    'wan-replication-ref': { w: { 'merge-policy-class-name': policy } },
    ...(backupCount !== undefined && { 'backup-count': backupCount }),
  };
  const batch = { 'batch-publisher': Object.fromEntries(publishers) };
  return {
    'wan-replication': { w: publishers.length === 0 ? null : batch },
    map: { 'own-*': map, 'both-a': map, 'both-short': { ...map, 'time-to-live-seconds': 2 } },
  };
}

type Repair = () => Promise<unknown> | unknown;

/** A cluster of either kind. */
interface Node {
  readonly members: readonly FaultMember[];
  readonly servers: FaultCluster | undefined;
  untilHealthy(): Promise<void>;
  end(): Promise<void>;
}

async function startSingle(port: number, wan: object): Promise<Node> {
  const folder = mkdtempSync(join(tmpdir(), 'wan-mixed-'));
  const file = join(folder, 'grid.json');
  const groups = ['HEALTH_CHECK', 'CLUSTER_READ', 'DATA', 'WAN'].map((name) => [
    name,
    { enabled: true },
  ]);
  const rest = { enabled: true, 'endpoint-groups': Object.fromEntries(groups) };
  const grid = {
    'cluster-name': 'faults',
    network: { 'rest-api': rest },
    persistence: { enabled: true, 'base-dir': join(folder, 'data') },
    ...wan,
  };
  writeFileSync(file, JSON.stringify({ grid }));
  const member = new FaultMember({ host: '127.0.0.1', runner: [] }, port, [
    ...['--config', file, '--max-memory', '512m'],
  ]);
  await member.start();
  return {
    members: [member],
    servers: undefined,
    untilHealthy: () => until(() => member.isReady()),
    end: async () => {
      await member.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startOnServers(ports: readonly number[], wan: object): Promise<Node> {
  const options = { isOnNetwork: false, backupCount: 1, ports, wan: { ...wan } };
  const servers = await FaultCluster.start(options);
  return {
    members: servers.members,
    servers,
    untilHealthy: () => servers.untilHealthy(),
    end: () => servers.end(),
  };
}

class Group {
  readonly nodes: Node[] = [];
  readonly proxies: CuttingProxy[] = [];
  readonly ports: number[][] = [];
  readonly #case: Case;

  constructor(each: Case) {
    this.#case = each;
  }

  async start(): Promise<void> {
    const { sizes, shape, policy } = this.#case;
    const endpoints: number[][] = [];
    for (const size of sizes) {
      const ports: number[] = [];
      while (ports.length < Math.max(1, size)) ports.push(await freePort());
      this.ports.push(ports);
      const proxies = await Promise.all(ports.map((port) => CuttingProxy.start(port)));
      this.proxies.push(...proxies);
      endpoints.push(proxies.map(({ port }) => port));
    }
    for (const [number, size] of sizes.entries()) {
      const targets = targetsOf(shape, sizes.length, number).map((target) => endpoints[target]!);
      const wan = wanOf(policy, targets, size === 0 ? undefined : 1);
      const ports = this.ports[number]!;
      this.nodes.push(
        await (size === 0 ? startSingle(ports[0]!, wan) : startOnServers(ports, wan)),
      );
    }
  }

  async end(): Promise<void> {
    for (const proxy of this.proxies) proxy.stop();
    await Promise.all(this.nodes.map((node) => node.end()));
  }

  /** Makes a fault. Resolves with its name and its repair. */
  async disturb(random: Random): Promise<{ name: string; ms: number; repair: Repair }> {
    const { nodes, proxies } = this;
    const node = nodes[random.below(nodes.length)]!;
    const member = node.members[random.below(node.members.length)]!;
    const kind = random.below(10);
    const ms = 500 + random.below(6000);
    if (kind < 2) {
      await member.kill();
      return { name: 'member killed', ms: random.below(2000), repair: () => member.start() };
    }
    if (kind === 2) {
      member.pause();
      return { name: 'member stopped', ms, repair: () => member.resume() };
    }
    if (kind === 3) {
      for (const proxy of proxies) proxy.silence(true);
      const repair = () => {
        for (const proxy of proxies) proxy.silence(false);
      };
      return { name: 'links cut', ms, repair };
    }
    if (kind === 4) {
      const { port } = nodes[0]!.members[0]!;
      await request(port, 'POST', 'wan/pausePublisher', 'faults&&w&p0');
      const repair = () => request(port, 'POST', 'wan/resumePublisher', 'faults&&w&p0');
      return { name: 'paused', ms, repair };
    }
    const { servers } =
      nodes.find((each) => each.servers !== undefined && each === node) ??
      nodes.find((each) => each.servers !== undefined)!;
    const { primary } = await servers!.pairOf(random.below(3));
    if (kind < 7) {
      primary.pause();
      return { name: 'primary stopped', ms, repair: () => primary.resume() };
    }
    await primary.kill();
    // A primary that restarts before its failover may have lost changes.
    return { name: 'primary killed', ms: 7000, repair: () => primary.start() };
  }

  /** Kills all members of the last cluster, which is a target. */
  async depart(): Promise<{ name: string; ms: number; repair: Repair }> {
    const { members } = this.nodes.at(-1)!;
    for (const member of members) await member.kill();
    const repair = async (): Promise<void> => {
      for (const member of members) await member.start();
    };
    return { name: 'target away', ms: AWAY_MS, repair };
  }

  async publishers(): Promise<PublisherStatus[]> {
    const all: PublisherStatus[] = [];
    for (const { members } of this.nodes) {
      for (const { port } of members) {
        const body = await request(port, 'GET', 'wan/publishers');
        for (const each of (JSON.parse(body) as { publishers: PublisherStatus[] }).publishers) {
          all.push(each);
        }
      }
    }
    return all;
  }

  /** Resolves when nothing waits, with the number of events that were sent. */
  async untilSent(): Promise<number> {
    await until(async () => {
      const waiting = async () =>
        (await this.publishers()).reduce((sum, { queueSize }) => sum + queueSize, 0);
      for (let times = 0; times < 3; times++) {
        if ((await waiting()) > 0) return false;
        await sleep(1100);
      }
      return true;
    });
    return await this.sentCount();
  }

  /** Resolves with the number of events that all publishers have sent. */
  async sentCount(): Promise<number> {
    return (await this.publishers()).reduce((sum, { eventsSent }) => sum + eventsSent, 0);
  }
}

async function request(port: number, method: string, path: string, body = ''): Promise<string> {
  const client = new RawClient(port);
  try {
    const { status, body: text } = await client.request(method, path, Buffer.from(body));
    assert.equal(status, 200, `${path}: ${text}`);
    return text.toString();
  } finally {
    client.destroy();
  }
}

for (const each of CASES) {
  const { shape, policy, sizes } = each;
  const name = `${shape} of ${sizes}, ${policy}: ${ROUNDS} rounds, seed ${SEED}`;
  describe(name, () => {
    it('makes all clusters equal', { timeout: ROUNDS * ROUND_MS_MAX }, async (context) => {
      const group = new Group(each);
      after(() => group.end());
      await group.start();
      const random = new Random(SEED);
      const isOneWay = shape === 'chain';
      const numbers = [...sizes.keys()];
      const load = new MixedLoad({
        random,
        clusters: group.ports,
        writers: isOneWay ? [0] : numbers,
        isShared: policy === 'LatestUpdate',
        isOnce: policy === 'PutIfAbsent',
      });
      for (let round = 0; round < ROUNDS; round++) {
        const startMs = performance.now();
        load.begin();
        await sleep(WARM_MS);
        const isAway = round % 10 === 9;
        const fault = await (isAway ? group.depart() : group.disturb(random));
        await sleep(fault.ms);
        await fault.repair();
        for (const node of group.nodes) await node.untilHealthy();
        await sleep(AFTER_MS);
        await load.end();
        let sent = await group.untilSent();
        await load.compare(() => numbers);
        // An entry that expires now is sent as a delete; events that circulate do not end.
        await until(async () => {
          const before = sent;
          await sleep(QUIET_MS);
          sent = await group.sentCount();
          return sent === before;
        });
        await load.compare(() => numbers);
        const members = group.nodes.flatMap((node) => node.members);
        assert.deepEqual(
          members.flatMap(({ problems }) => problems.splice(0)),
          [],
        );
        const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
        const counts = `${load.acknowledged} acknowledged, ${load.repeated} repeated, ${sent} sent`;
        console.log(`${name}: round ${round}, ${fault.name}, ${seconds} s: ${counts}`);
      }
      for (const { eventsDropped, eventsRejected } of await group.publishers()) {
        assert.deepEqual([eventsDropped, eventsRejected], [0, 0]);
      }
      context.diagnostic(`${load.acknowledged} changes acknowledged`);
    });
  });
}
