/** The parts of an embedded engine, for tests of one of them, on a fake clock and a fixed seed. */
import assert from 'node:assert/strict';
import type { EmbeddedEngineOptions } from '../../../src/engine/embedded/embedded-engine.ts';
import { Parts } from '../../../src/engine/embedded/parts.ts';
import type { RecordStore } from '../../../src/engine/embedded/record-store.ts';
import { FakeClock } from '../../fake-clock.ts';

/** The smallest index of a partition. */
const INDEX_BYTES = 128;
/** First pages of the tables of names of maps, with their lives, and content types. */
const REST_BYTES = 6 * 4096;

/** Asserts that nothing is stored and nothing kept but what an emptied store keeps for later. */
export function assertEmpty(store: RecordStore): void {
  for (let number = 0; number < store.partitionCount; number++) {
    const partition = store.partition(number);
    assert.equal(partition?.count ?? 0, 0);
    assert.equal(partition?.log.liveBytes ?? 0, 0);
  }
  assert.ok(store.meter.bytes <= REST_BYTES + INDEX_BYTES * store.partitionCount);
}

export interface TestParts {
  readonly parts: Parts;
  readonly clock: FakeClock;
}

export function partsOf(
  partitionCount: number,
  options: Partial<EmbeddedEngineOptions> = {},
): TestParts {
  const clock = new FakeClock();
  const parts = new Parts({
    partitionCount,
    clock,
    queueCapacity: () => Number.POSITIVE_INFINITY,
    hashSeed: Buffer.from('12345678'),
    ...options,
  });
  return { parts, clock };
}
