/** Engines on a Redis or Valkey server, set up as in a member. */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SystemClock } from '../../src/base/clock.ts';
import { parseEngineUrl } from '../../src/base/engine-url.ts';
import { RedisEngine, type RedisEngineOptions } from '../../src/engine/redis/redis-engine.ts';
import { StoreServers } from '../../src/engine/redis/store-servers.ts';
import type { FaultyServer } from '../engine/redis/faulty-server.ts';
import { type Subject, subjectCapacity } from '../engine/subject.ts';
import { CuttingProxy } from './cutting-proxy.ts';
import { EngineServer } from './engine-server.ts';
import { sendCommand } from './server-group.ts';

export const PARTITION_COUNT = 271;
const DEADLINE_MS = 5000;
const MANY = 400;

export interface StoreEngineOptions extends Partial<RedisEngineOptions> {
  /** The port of a server on this machine, if `url` is not set. */
  readonly port?: number;
  readonly url?: string;
}

/** Opens an engine, by default of the cluster `grid`. */
export async function storeEngine({
  port = 0,
  url = `redis://127.0.0.1:${port}`,
  ...others
}: StoreEngineOptions): Promise<RedisEngine> {
  const engine = new RedisEngine({
    clock: new SystemClock(),
    login: { user: undefined, password: undefined },
    tls: undefined,
    deadlineMs: DEADLINE_MS,
    clusterName: 'grid',
    allowsEviction: false,
    partitionCount: PARTITION_COUNT,
    connect: (options, observer) => new StoreServers(parseEngineUrl(url), options, observer),
    mapReplicaCount: () => 0,
    queueReplicaCount: () => 0,
    clusterReplicaCount: 0,
    queueCapacity: subjectCapacity,
    onLost: () => {},
    onWarning: () => {},
    onRefused: () => {},
    onFault: (text) => {
      throw new Error(text);
    },
    ...others,
  });
  await engine.open();
  return engine;
}

const KEYS = `return table.concat(redis.call('KEYS', '*'), '\\n')`;

let clusterCount = 0;

/** Creates a subject whose data no other one shares, as it is the only member of its cluster. */
export async function storeSubject(port: number): Promise<Subject> {
  return subjectOf(await storeEngine({ port, clusterName: `grid ${clusterCount++}` }));
}

/** Creates a subject of the contract suites with the engine. */
export function subjectOf(engine: RedisEngine): Subject {
  const quiet = () => untilIdle(engine);
  return {
    engine,
    many: MANY,
    quiet,
    advance: async (ms) => {
      await quiet();
      await sleep(ms);
      await quiet();
    },
    now: () => performance.now(),
  };
}

/** Resolves when no engine has an operation under way in two consecutive turns. */
export async function untilIdle(...engines: readonly RedisEngine[]): Promise<void> {
  for (let idle = 0; idle < 2; ) {
    await new Promise((resolve) => setImmediate(resolve));
    idle = engines.some(({ isBusy }) => isBusy) ? 0 : idle + 1;
  }
}

/** Starts a server, by default without a replica. */
export async function startFaultyServer(hasReplica: boolean): Promise<FaultyServer> {
  const server = await EngineServer.start('--repl-diskless-sync-delay', '0');
  const { port } = server;
  const replica = hasReplica
    ? await EngineServer.start('--replicaof', '127.0.0.1', `${port}`)
    : undefined;
  const ask = async (...words: readonly string[]) => `${await sendCommand(port, ...words)}`;
  if (hasReplica) while ((await ask('WAIT', '1', '100')) !== '1') await sleep(20);
  const pause = (pid: number, isPaused: boolean) =>
    process.kill(pid, isPaused ? 'SIGSTOP' : 'SIGCONT');
  return {
    ...{ port, network: { clock: new SystemClock() }, sleep, untilIdle, cutStep: 1, ask },
    open: (options) => storeEngine({ port, ...options }),
    run: (test) => test(),
    keys: async () => (await ask('EVAL', KEYS, '0')).split('\n').filter((key) => key !== ''),
    refuse: async (error, isRefusing) => {
      if (error === 'NOREPLICAS') {
        await ask('CONFIG', 'SET', 'min-replicas-to-write', isRefusing ? '1' : '0');
      } else if (isRefusing) {
        rmSync(server.folder, { recursive: true, force: true });
        await ask('CONFIG', 'SET', 'stop-writes-on-bgsave-error', 'yes');
        // A server without such a limit accepts changes that it cannot save.
        await ask('CONFIG', 'SET', 'save', '3600 1');
        await ask('BGSAVE');
        const isRefused = 'rdb_last_bgsave_status:err';
        while (!(await ask('INFO', 'persistence')).includes(isRefused)) await sleep(20);
      } else await ask('CONFIG', 'SET', 'stop-writes-on-bgsave-error', 'no');
    },
    pause: (isPaused) => pause(server.pid, isPaused),
    pauseReplica: (isPaused) => pause(replica!.pid, isPaused),
    newProxy: () => CuttingProxy.start(port),
    end: async () => {
      await replica?.stop();
      await server.stop();
    },
  };
}
