/** Engines on fake servers, and their operations as promises. */
import { SystemClock } from '../../../src/base/clock.ts';
import { parseEngineUrl } from '../../../src/base/engine-url.ts';
import { Span } from '../../../src/base/span.ts';
import { FOREVER, type Outcome, type Receiver } from '../../../src/engine/engine.ts';
import { RedisEngine, type RedisEngineOptions } from '../../../src/engine/redis/redis-engine.ts';
import { StoreServers } from '../../../src/engine/redis/store-servers.ts';

/**
 * Deadline for tests that wait for it, in ms; the others have one that a busy machine does not
 * exceed.
 */
export const DEADLINE_MS = 250;
const LONG_DEADLINE_MS = 10_000;
const MAP = spanOf('map');
const NOTHING = new Span();

/** Reports of an engine other than results. */
export interface EngineReports {
  readonly faults: string[];
  /** Commands that a server has refused, with its reply. */
  readonly refused: string[];
  readonly warnings: string[];
  readonly lost: string[];
}

export interface FakeStore extends EngineReports {
  readonly engine: RedisEngine;
}

/** Creates an engine that is not open. */
export function fakeStore(url: string, options: Partial<RedisEngineOptions> = {}): FakeStore {
  const reports: EngineReports = { faults: [], refused: [], warnings: [], lost: [] };
  const engine = new RedisEngine({
    clock: new SystemClock(),
    login: { user: undefined, password: undefined },
    tls: undefined,
    deadlineMs: LONG_DEADLINE_MS,
    clusterName: 'grid',
    partitionCount: 271,
    allowsEviction: false,
    connect: (own, observer) => new StoreServers(parseEngineUrl(url), own, observer),
    mapReplicaCount: () => undefined,
    queueReplicaCount: () => undefined,
    queueCapacity: () => Number.POSITIVE_INFINITY,
    onLost: (_, reason) => reports.lost.push(reason.message),
    onFault: (text) => reports.faults.push(text),
    onRefused: (_, command, text) => reports.refused.push(`${command()}: ${text}`),
    onWarning: (text) => reports.warnings.push(text),
    ...options,
  });
  return { engine, ...reports };
}

/** Runs the test with an open engine, which is closed at its end. */
export async function withStore(
  url: string,
  options: Partial<RedisEngineOptions>,
  test: (store: FakeStore) => Promise<void>,
): Promise<void> {
  const store = fakeStore(url, options);
  // Keeps the process alive while the engine waits for an unreachable server.
  const alive = setInterval(() => {}, 60_000);
  try {
    await store.engine.open();
    await test(store);
  } finally {
    await store.engine.close();
    clearInterval(alive);
  }
}

/** Sets an entry of the only map. */
export function set(engine: RedisEngine, key: string, value: string): Promise<Outcome> {
  return answered((receiver) =>
    engine.set(MAP, spanOf(key), spanOf(value), NOTHING, FOREVER, undefined, receiver),
  );
}

export function get(engine: RedisEngine, key: string): Promise<Outcome> {
  return answered((receiver) => engine.get(MAP, spanOf(key), receiver));
}

export function remove(engine: RedisEngine, key: string): Promise<Outcome> {
  return answered((receiver) => engine.delete(MAP, spanOf(key), undefined, receiver));
}

export function offer(engine: RedisEngine, queue: string, value: string): Promise<Outcome> {
  return answered((receiver) => engine.offer(spanOf(queue), spanOf(value), NOTHING, receiver));
}

export function answered(call: (receiver: Receiver) => void): Promise<Outcome> {
  return new Promise((resolve) => call({ onResult: ({ outcome }) => resolve(outcome) }));
}

export function spanOf(text: string): Span {
  const bytes = Buffer.from(text);
  return new Span().set(bytes, 0, bytes.length);
}
