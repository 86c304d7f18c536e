/** Engines on the fake servers of a world, and their operations as promises. */
import { parseEngineUrl } from '../../src/base/engine-url.ts';
import { Span } from '../../src/base/span.ts';
import { FOREVER, type Outcome, type Receiver } from '../../src/engine/engine.ts';
import { RedisEngine, type RedisEngineOptions } from '../../src/engine/redis/redis-engine.ts';
import { StoreServers } from '../../src/engine/redis/store-servers.ts';
import type { FaultyServer } from '../engine/redis/faulty-server.ts';
import { span } from '../engine/results.ts';
import { type Subject, subjectCapacity } from '../engine/subject.ts';
import { FakeProxy } from './fake-proxy.ts';
import { FakeServer } from './fake-server.ts';
import { World } from './world.ts';

export const DEADLINE_MS = 250;
/** Fewer than usual: an engine computes the tag of each. */
export const PARTITION_COUNT = 31;
/** The suite on real servers cuts at each byte. */
const CUT_STEP = 11;
const LONG_DEADLINE_MS = 10_000;
const MANY = 400;
const MAP = span('map');
const NOTHING = new Span();

/** What an engine has reported besides its results. */
export interface Told {
  readonly faults: string[];
  /** Commands that a server has refused, with its reply. */
  readonly refused: string[];
  readonly warnings: string[];
  readonly lost: string[];
}

export interface FakeStore extends Told {
  readonly engine: RedisEngine;
}

/** Creates an engine that is not open. */
export function fakeStore(
  world: World,
  url: string,
  options: Partial<RedisEngineOptions> = {},
): FakeStore {
  const told: Told = { faults: [], refused: [], warnings: [], lost: [] };
  const engine = new RedisEngine({
    clock: world.clock,
    connectTcp: world.network.connect,
    login: { user: undefined, password: undefined },
    tls: undefined,
    deadlineMs: LONG_DEADLINE_MS,
    clusterName: 'grid',
    partitionCount: PARTITION_COUNT,
    allowsEviction: false,
    connect: (own, observer) => new StoreServers(parseEngineUrl(url), own, observer),
    mapReplicaCount: () => undefined,
    queueReplicaCount: () => undefined,
    queueCapacity: () => Number.POSITIVE_INFINITY,
    onLost: (_, reason) => told.lost.push(reason.message),
    onFault: (text) => told.faults.push(text),
    onRefused: (_, command, text) => told.refused.push(`${command()}: ${text}`),
    onWarning: (text) => told.warnings.push(text),
    ...options,
  });
  return { engine, ...told };
}

/** Runs the test with an open engine, which is closed at its end. The time passes meanwhile. */
export function withStore(
  world: World,
  url: string,
  options: Partial<RedisEngineOptions>,
  test: (store: FakeStore) => Promise<void>,
): Promise<void> {
  const run = async (): Promise<void> => {
    const store = fakeStore(world, url, options);
    try {
      await store.engine.open();
      await test(store);
    } finally {
      await store.engine.close();
    }
  };
  return world.during(run());
}

/** Opens a subject of the contract suites on the servers of the URL. */
export async function subjectOf(world: World, url: string): Promise<Subject> {
  const { engine } = fakeStore(world, url, {
    queueCapacity: subjectCapacity,
    onFault: (text) => {
      throw new Error(text);
    },
  });
  await world.during(engine.open());
  // The close waits for replies, also where a test calls it itself.
  const close = engine.close.bind(engine);
  engine.close = () => world.during(close());
  return {
    engine,
    many: MANY,
    quiet: () => world.settled(),
    advance: (ms) => world.pass(ms),
    now: () => world.clock.now(),
  };
}

/** Starts a server in a world of its own. */
export async function startFaultyServer(hasReplica: boolean): Promise<FaultyServer> {
  const world = new World();
  const server = new FakeServer(world);
  const replica = new FakeServer(world);
  if (hasReplica) server.replication.connect(replica);
  return {
    port: server.port,
    network: { clock: world.clock, connectTcp: world.network.connect },
    cutStep: CUT_STEP,
    open: async ({ port = server.port, ...options } = {}) => {
      const { engine } = fakeStore(world, `redis://127.0.0.1:${port}`, {
        queueReplicaCount: () => 0,
        queueCapacity: subjectCapacity,
        ...options,
      });
      await engine.open();
      return engine;
    },
    run: (test) => world.during(test()),
    ask: async (...words) => `${server.run(...words)}`,
    keys: async () => server.data.names,
    refuse: async (error, isRefusing) => {
      server.refusal = isRefusing ? `${error} the server refuses changes` : undefined;
    },
    pause: (isPaused) => world.network.cut(server.address, isPaused),
    pauseReplica: (isPaused) => server.replication.lag(replica, isPaused),
    newProxy: async () => new FakeProxy(server),
    sleep: (ms) => world.sleep(ms),
    untilIdle: async (...engines) => {
      do await world.sleep(1);
      while (engines.some(({ isBusy }) => isBusy));
    },
    end: async () => {},
  };
}

/** Sets an entry of the one map. */
export function set(engine: RedisEngine, key: string, value: string): Promise<Outcome> {
  return answered((receiver) =>
    engine.set(MAP, span(key), span(value), NOTHING, FOREVER, undefined, receiver),
  );
}

export function get(engine: RedisEngine, key: string): Promise<Outcome> {
  return answered((receiver) => engine.get(MAP, span(key), receiver));
}

export function remove(engine: RedisEngine, key: string): Promise<Outcome> {
  return answered((receiver) => engine.delete(MAP, span(key), undefined, receiver));
}

export function offer(engine: RedisEngine, queue: string, value: string): Promise<Outcome> {
  return answered((receiver) => engine.offer(span(queue), span(value), NOTHING, receiver));
}

/** Returns the last character of each value that was set, in order. */
export function valuesDone({ done }: FakeServer): string[] {
  return done.filter(([name]) => name === 'HSET').map(([, , , stored = '']) => stored.slice(-1));
}

export function answered(call: (receiver: Receiver) => void): Promise<Outcome> {
  return new Promise((resolve) => call({ onResult: ({ outcome }) => resolve(outcome) }));
}
