/**
 * Groups of servers for the engine, on free ports of this machine: a Cluster of three primaries
 * with a replica each, and a primary with a replica that Sentinels monitor. The program is
 * `redis-server`, or the one that ENGINE_SERVER names.
 */

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { SystemClock } from '../../src/base/clock.ts';
import { ControlConnection, type ReplyValue } from '../../src/engine/redis/control-connection.ts';
import { freePort, isFree } from '../free-port.ts';
import { ServerProcess, serverProgram, until } from './server-process.ts';
import { runChecked } from './tools.ts';

/** Offset from a server's port to the port of its cluster bus. */
const BUS_OFFSET = 10_000;
/** Limit for servers' ports, which keeps the bus ports below the ports of outgoing connections. */
const PORT_MAX = 22_000;
/** Limit for the reply to a command, in ms. */
const DEADLINE_MS = 2000;
/** Silence after which a server counts as failed, in ms. */
export const NODE_TIMEOUT_MS = 2000;

/** The client in the server's folder, otherwise Debian's client. */
function clientProgram(): string {
  const sibling = serverProgram().replace(/server$/, 'cli');
  return isAbsolute(sibling) && !existsSync(sibling) ? 'redis-cli' : sibling;
}

/** A host on which processes run. */
export interface Place {
  readonly host: string;
  /** The words that run a command on the host; empty for this machine. */
  readonly runner: readonly string[];
}

const LOCAL: Place = { host: '127.0.0.1', runner: [] };

export class GroupServer {
  readonly port: number;
  readonly place: Place;
  readonly #words: readonly string[];
  #process: ServerProcess | undefined;

  constructor(port: number, words: readonly string[], place = LOCAL) {
    this.port = port;
    this.#words = words;
    this.place = place;
  }

  get address(): string {
    return `${this.place.host}:${this.port}`;
  }

  async start(): Promise<void> {
    const isUp = async () => (await this.ask('PING')) === 'PONG';
    this.#process = await ServerProcess.start(this.#words, isUp, this.place.runner);
  }

  ask(...words: readonly string[]): Promise<ReplyValue> {
    return sendCommandTo(this.place.host, this.port, words);
  }

  pause(): void {
    this.#process?.signal('SIGSTOP');
  }

  resume(): void {
    this.#process?.signal('SIGCONT');
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
    this.#process = undefined;
  }
}

export interface ServerGroup {
  readonly servers: readonly GroupServer[];
  /** The engine's URL for the group. */
  readonly url: string;
  end(): Promise<void>;
}

/** Starts three primaries, each with a replica. `words` are settings of each server. */
export async function startCluster(
  words: readonly string[] = [],
  places: readonly Place[] = [],
): Promise<ServerGroup> {
  const folder = mkdtempSync(join(tmpdir(), 'gridnode-cluster-'));
  const ports = await freePorts(6);
  const servers = ports.map((port, index) => {
    const place = places[index] ?? LOCAL;
    const cluster = ['--cluster-enabled', 'yes', '--cluster-node-timeout', `${NODE_TIMEOUT_MS}`];
    const all = [...serverWords(folder, port, place.host), ...cluster, ...words];
    return new GroupServer(port, all, place);
  });
  const end = () => stopAll(servers, folder);
  try {
    await Promise.all(servers.map((server) => server.start()));
    const nodes = servers.map(({ address }) => address);
    const create = ['--cluster', 'create', ...nodes, '--cluster-replicas', '1', '--cluster-yes'];
    await runChecked(clientProgram(), create);
    await until(async () => {
      const states = await Promise.all(servers.map((server) => server.ask('CLUSTER', 'INFO')));
      return states.every((state) => `${state}`.includes('cluster_state:ok'));
    });
    await until(async () => {
      const roles = await Promise.all(servers.map((server) => server.ask('ROLE')));
      const primaries = roles.filter((role) => Array.isArray(role) && role[0] === 'master');
      return primaries.length === 3 && primaries.every((role) => replicasIn(role) === 1);
    });
  } catch (error) {
    await end();
    throw error;
  }
  // A replica and a primary: any node reports the topology.
  const url = `redis://${servers[5]!.address},${servers[0]!.address}`;
  return { servers, url, end };
}

export interface SentinelGroup extends ServerGroup {
  readonly sentinels: readonly GroupServer[];
}

/**
 * Starts a primary, its replica, and three Sentinels that monitor it by the name `grid`. `places`
 * are those of the servers, then of the Sentinels; `words` are settings of each server.
 */
export async function startSentinelGroup(
  places: readonly Place[] = [],
  words: readonly string[] = [],
): Promise<SentinelGroup> {
  const folder = mkdtempSync(join(tmpdir(), 'gridnode-sentinel-'));
  const [first = 0, second = 0, ...others] = await freePorts(5);
  const placeAt = (index: number) => places[index] ?? LOCAL;
  const { host } = placeAt(0);
  const replica = ['--replicaof', host, `${first}`];
  const servers = [
    new GroupServer(first, [...serverWords(folder, first, host), ...words], placeAt(0)),
    new GroupServer(
      second,
      [...serverWords(folder, second, placeAt(1).host), ...words, ...replica],
      placeAt(1),
    ),
  ];
  const sentinels = others.map((port, index) => {
    const place = placeAt(2 + index);
    const file = join(folder, `sentinel-${port}.conf`);
    const watch = [
      `port ${port}`,
      `bind ${place.host}`,
      'protected-mode no',
      `dir ${folder}`,
      `sentinel monitor grid ${host} ${first} 2`,
      `sentinel down-after-milliseconds grid ${NODE_TIMEOUT_MS}`,
      'sentinel failover-timeout grid 6000',
    ];
    writeFileSync(file, `${watch.join('\n')}\n`);
    return new GroupServer(port, [file, '--sentinel'], place);
  });
  const end = () => stopAll([...servers, ...sentinels], folder);
  try {
    for (const server of [...servers, ...sentinels]) await server.start();
    await until(async () => replicasIn(await servers[0]!.ask('ROLE')) === 1);
    for (const sentinel of sentinels) {
      await until(async () => (await sentinel.ask('SENTINEL', 'CKQUORUM', 'grid')) !== undefined);
      await until(async () => {
        const replicas = await sentinel.ask('SENTINEL', 'REPLICAS', 'grid');
        return Array.isArray(replicas) && replicas.length === 1;
      });
    }
  } catch (error) {
    await end();
    throw error;
  }
  const url = `redis://${sentinels.map(({ address }) => address).join(',')}?sentinel=grid`;
  return { servers, sentinels, url, end };
}

/** Sends a command to the server on the port; resolves with the reply, and rejects without one. */
export function sendCommand(port: number, ...words: readonly string[]): Promise<ReplyValue> {
  return sendCommandTo(LOCAL.host, port, words);
}

/** Returns a connection to the server on the port, on which any command may be sent. */
export function controlTo(port: number, deadlineMs: number, host = LOCAL.host): ControlConnection {
  const login = { user: undefined, password: undefined };
  return new ControlConnection(
    { host, port },
    {
      ...{ clock: new SystemClock(), login, tls: undefined, deadlineMs },
      ...{ mayChange: () => true, counter: { count: 0 } },
    },
  );
}

async function sendCommandTo(
  host: string,
  port: number,
  words: readonly string[],
): Promise<ReplyValue> {
  const control = controlTo(port, DEADLINE_MS, host);
  try {
    // A character for each byte, as in replies.
    return await control.ask(...words.map((word) => Buffer.from(word, 'latin1')));
  } finally {
    control.end();
  }
}

function replicasIn(role: ReplyValue): number {
  const replicas = Array.isArray(role) ? role[2] : undefined;
  return Array.isArray(replicas) ? replicas.length : 0;
}

function serverWords(folder: string, port: number, host = LOCAL.host): string[] {
  const data = join(folder, `${port}`);
  mkdirSync(data);
  // By default, a server without a password refuses clients of other hosts.
  const open = host === LOCAL.host ? [] : ['--protected-mode', 'no'];
  return ['--port', `${port}`, '--bind', host, '--save', '', '--dir', data, ...open];
}

async function stopAll(servers: readonly GroupServer[], folder: string): Promise<void> {
  await Promise.all(servers.map((server) => server.kill()));
  rmSync(folder, { recursive: true, force: true });
}

/** Finds free ports whose cluster bus ports are also free, below those of outgoing connections. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = await freePort(PORT_MAX);
    if (await isFree(port + BUS_OFFSET)) ports.add(port);
  }
  return [...ports];
}
