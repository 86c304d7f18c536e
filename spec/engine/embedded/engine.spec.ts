import { EmbeddedEngine } from '../../../src/engine/embedded/engine.ts';
import type { MutationSink } from '../../../src/engine/mutation-sink.ts';
import { FakeClock } from '../../fake-clock.ts';
import { engineSuite } from '../engine.case.ts';
import { RecordingSink } from '../sinks.ts';
import { type StoredSubject, storedEngineSuite } from '../stored-engine.case.ts';
import { subjectCapacity } from '../subject.ts';

function subject(partitionCount: number, sinks: readonly MutationSink[]): StoredSubject {
  const clock = new FakeClock();
  const queueCapacity = subjectCapacity;
  const engine = new EmbeddedEngine({ partitionCount, clock, queueCapacity, sinks });
  return {
    engine,
    quiet: async () => clock.settle(),
    advance: async (ms) => clock.advance(ms),
  };
}

for (const partitionCount of [1, 271]) {
  const name = `an embedded engine of ${partitionCount} partitions`;
  engineSuite(name, async () => subject(partitionCount, []));
  storedEngineSuite(name, async (sinks) => subject(partitionCount, sinks));
}

engineSuite('an embedded engine with a sink', async () => subject(271, [new RecordingSink()]));
