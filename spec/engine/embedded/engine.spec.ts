import { EmbeddedEngine } from '../../../src/engine/embedded/engine.ts';
import { FakeClock } from '../../fake-clock.ts';
import { engineSuite } from '../engine.case.ts';
import { type Subject, subjectCapacity } from '../subject.ts';

function subject(partitionCount: number): Subject {
  const clock = new FakeClock();
  const engine = new EmbeddedEngine({ partitionCount, clock, queueCapacity: subjectCapacity });
  return {
    engine,
    quiet: async () => clock.settle(),
    advance: async (ms) => clock.advance(ms),
  };
}

for (const partitionCount of [1, 271]) {
  engineSuite(`an embedded engine of ${partitionCount} partitions`, async () =>
    subject(partitionCount),
  );
}
