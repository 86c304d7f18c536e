/** The parts of an embedded engine, for tests of one of them, on a fake clock and a fixed seed. */
import type { EmbeddedEngineOptions } from '../../../src/engine/embedded/engine.ts';
import { Parts } from '../../../src/engine/embedded/parts.ts';
import { FakeClock } from '../../fake-clock.ts';

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
