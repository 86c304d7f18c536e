import assert from 'node:assert/strict';
import { afterEach, it } from 'node:test';
import { type EmbeddedEngine, STOCK_BYTES } from '../../../src/engine/embedded/embedded-engine.ts';
import type { MutationSink } from '../../../src/engine/mutation-sink.ts';
import { engineSuite } from '../engine.case.ts';
import { holdSuite } from '../holds.case.ts';
import { mergeSuite } from '../merge.case.ts';
import { Asker } from '../results.ts';
import { sequenceSuite } from '../sequences.case.ts';
import { DelayingSink, RecordingSink } from '../sinks.ts';
import { type StoredSubject, storedEngineSuite } from '../stored-engine.case.ts';
import { MANY, type SequencedSubject, subjectCapacity } from '../subject.ts';
import { engineOf } from './components-of.ts';

interface Options {
  readonly partitionCount?: number;
  readonly sinks?: readonly MutationSink[];
  readonly acknowledgesAll?: boolean;
}

/** The engines of the test. Closing one also checks its invariants. */
const engines: EmbeddedEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

function subject(options: Options): StoredSubject & SequencedSubject {
  const { engine, clock } = engineOf({ queueCapacity: subjectCapacity, ...options });
  engines.push(engine);
  return {
    engine,
    stored: engine,
    many: MANY,
    quiet: async () => clock.settle(),
    advance: async (ms) => clock.advance(ms),
    now: () => clock.now(),
  };
}

for (const partitionCount of [1, 7]) {
  const name = `an embedded engine of ${partitionCount} partitions`;
  if (partitionCount > 1) engineSuite(name, async () => subject({ partitionCount }));
  sequenceSuite(name, async () => subject({ partitionCount }));
  storedEngineSuite(name, async (sinks) => subject({ partitionCount, sinks }));
  mergeSuite(name, async (sinks) => subject({ partitionCount, sinks }));
}

for (const [sort, options] of [
  ['whose answers wait', () => ({ sinks: [new RecordingSink(), new DelayingSink(0)] })],
  ['that names a hold for every take', () => ({ acknowledgesAll: true })],
] as const) {
  const name = `an embedded engine ${sort}`;
  engineSuite(name, async () => subject(options()));
  sequenceSuite(name, async () => subject(options()));
  holdSuite(name, async () => subject(options()));
}

it('a closed embedded engine waits for nothing, and allocates no slabs in advance', async () => {
  const { engine, clock } = engineOf({ partitionCount: 271, stockBytes: STOCK_BYTES });
  const asker = new Asker(engine);
  await asker.set('m', 'k', 'value');
  await asker.offer('q', 'item');
  asker.wait('other', 10_000);
  assert.ok(clock.timerCount > 0);
  await engine.close();
  assert.equal(clock.timerCount, 0);
});
