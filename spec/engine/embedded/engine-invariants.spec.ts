/** The invariants of the engine after random calls and in a replay; their detection of faults. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cellBytes } from '../../../src/engine/embedded/cell.ts';
import type { EngineComponents } from '../../../src/engine/embedded/engine-components.ts';
import { assertInvariants } from '../../../src/engine/embedded/engine-invariants.ts';
import { span } from '../results.ts';
import { componentsOf, offerItem, setEntry } from './components-of.ts';
import { strain } from './random-strain.ts';

const SEEDS = 8;
const STEPS = 280;

/** Faults, each made in components with one entry and one item. */
const FAULTS: Readonly<Record<string, (components: EngineComponents) => void>> = {
  'a use of a name too many': ({ mapNames }) => mapNames.use(mapNames.find(span('map'))),
  'a use of a content type too many': ({ contentTypes }) => {
    contentTypes.use(contentTypes.find(span('text/plain')));
  },
  'a name too many': ({ mapNames }) => void mapNames.count++,
  'a use of all names too many': ({ mapNames }) => void mapNames.useCount++,
  'an available item too many': ({ queues }) => void queues.order.count++,
  'bytes that nobody has': ({ store }) => store.meter.charge(8),
  'an extent that nobody has': ({ store }) => void store.pool.allocateExtent(false),
  'a long cell that nobody has': ({ store }) => void store.pool.allocateLong(65_536),
  'a live cell without a reference': ({ store }) => {
    store.openPartition(0).log.allocate(cellBytes(0, 0, 0), false);
  },
  'an id without a name': ({ queueNames }) => void queueNames.ids.allocate(),
  'a queue without items': ({ queues }) => void queues.open(span('another')),
  'an item that is gone from its place': ({ rings, queueNames }) => {
    const id = queueNames.find(span('queue'));
    rings.set(id, rings.first(id), 0);
  },
};

describe('EmbeddedEngine.invariants', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`hold after each of ${STEPS} random calls, and in a replay of them (seed ${seed})`, () => {
      strain(seed, STEPS, 1);
    });
  }

  for (const [fault, make] of Object.entries(FAULTS)) {
    it(`detect ${fault}`, () => {
      const { components } = componentsOf(1);
      const type = 'text/plain';
      setEntry(components, 'map', 'key', 'value', type);
      offerItem(components, 'queue', 'item', type);
      assertInvariants(components);
      make(components);
      assert.throws(() => assertInvariants(components), { name: 'AssertionError' });
    });
  }
});
