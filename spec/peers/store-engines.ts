/** Engines on a Redis or Valkey server, set up as in a member. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SystemClock } from '../../src/base/clock.ts';
import { parseEngineUrl } from '../../src/base/engine-url.ts';
import { RedisEngine, type RedisEngineOptions } from '../../src/engine/redis/redis-engine.ts';
import { StoreServers } from '../../src/engine/redis/store-servers.ts';
import { type Subject, subjectCapacity } from '../engine/subject.ts';

export const PARTITION_COUNT = 271;
const DEADLINE_MS = 5000;
const MANY = 400;

export interface StoreEngineOptions extends Partial<RedisEngineOptions> {
  readonly port: number;
}

/** Opens an engine, by default of the cluster `grid`. */
export async function storeEngine({ port, ...others }: StoreEngineOptions): Promise<RedisEngine> {
  const engine = new RedisEngine({
    clock: new SystemClock(),
    login: { user: undefined, password: undefined },
    tls: undefined,
    deadlineMs: DEADLINE_MS,
    clusterName: 'grid',
    allowsEviction: false,
    partitionCount: PARTITION_COUNT,
    connect: (options, observer) =>
      new StoreServers(parseEngineUrl(`redis://127.0.0.1:${port}`), options, observer),
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
  };
}

/** Resolves when no engine has an operation under way in two consecutive turns. */
export async function untilIdle(...engines: readonly RedisEngine[]): Promise<void> {
  for (let idle = 0; idle < 2; ) {
    await new Promise((resolve) => setImmediate(resolve));
    idle = engines.some(({ isBusy }) => isBusy) ? 0 : idle + 1;
  }
}
