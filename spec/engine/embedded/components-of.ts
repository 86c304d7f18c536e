/**
 * Embedded engines, and their components for tests of a single one, on a fake clock and a fixed
 * seed.
 */
import assert from 'node:assert/strict';
import type { CellStore } from '../../../src/engine/embedded/cell-store.ts';
import {
  EmbeddedEngine,
  type EmbeddedEngineOptions,
} from '../../../src/engine/embedded/embedded-engine.ts';
import {
  type EngineComponents,
  engineComponents,
} from '../../../src/engine/embedded/engine-components.ts';
import { FOREVER, type Lifetime, type Outcome } from '../../../src/engine/engine.ts';
import { FakeClock } from '../../fake-clock.ts';
import { span } from '../results.ts';
import { AtOnce } from './at-once.ts';

/** Smallest index of a partition, in bytes. */
const INDEX_BYTES = 128;
/** First pages of the tables of map names, with lives and bytes, and of content types, in bytes. */
const REST_BYTES = 8 * 4096;

/** Asserts that nothing is stored, and nothing allocated except what an emptied store retains. */
export function assertEmpty(store: CellStore): void {
  for (let number = 0; number < store.partitionCount; number++) {
    const partition = store.partition(number);
    assert.equal(partition?.index?.count ?? 0, 0);
    assert.equal(partition?.log.liveBytes ?? 0, 0);
  }
  assert.ok(store.meter.bytes <= REST_BYTES + INDEX_BYTES * store.partitionCount);
}

export interface TestComponents {
  readonly components: EngineComponents;
  readonly clock: FakeClock;
}

type Options = Partial<EmbeddedEngineOptions> & { readonly clock?: FakeClock };

const DEFAULTS = {
  partitionCount: 5,
  queueCapacity: () => Number.POSITIVE_INFINITY,
  hashSeed: Buffer.from('12345678'),
};

export function engineOf({ clock = new FakeClock(), ...options }: Options = {}) {
  const engine = new EmbeddedEngine({ ...DEFAULTS, clock, ...options });
  return { clock, engine, ask: new AtOnce(engine) };
}

export function componentsOf(
  partitionCount: number,
  options: Partial<EmbeddedEngineOptions> = {},
): TestComponents {
  const clock = new FakeClock();
  const components = engineComponents({ ...DEFAULTS, clock, partitionCount, ...options });
  return { components, clock };
}

/** Returns the number of entries of all partitions, with those of the engine itself. */
export function entriesOf({ store }: EngineComponents): number {
  let count = 0;
  for (let number = 0; number < store.partitionCount; number++) {
    count += store.partition(number)?.index?.count ?? 0;
  }
  return count;
}

export function setEntry(
  { maps }: EngineComponents,
  map: string,
  key: string,
  value: string | Buffer,
  type = '',
  lifetime: Lifetime = FOREVER,
): Outcome {
  return maps.set(span(map), maps.key(span(key)), span(value), span(type), lifetime);
}

export function findEntry({ maps }: EngineComponents, map: string, key: string): number {
  return maps.find(span(map), maps.key(span(key)));
}

export function deleteEntry({ maps }: EngineComponents, map: string, key: string): Outcome {
  return maps.delete(span(map), maps.key(span(key)));
}

export function offerItem(
  { queues }: EngineComponents,
  queue: string,
  value: string,
  type: string,
): Outcome {
  const name = span(queue);
  return queues.offer(queues.open(name), name, span(value), span(type));
}
