import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import type { EngineComponents } from '../../../src/engine/embedded/engine-components.ts';
import { EXTENT_BYTES, SLAB_BYTES } from '../../../src/engine/embedded/slabs.ts';
import { APPLIED } from '../../../src/engine/engine.ts';
import { span } from '../results.ts';
import { componentsOf, deleteEntry, findEntry, offerItem, setEntry } from './components-of.ts';

/** Returns the live bytes per byte of the allocated extents. The caller excludes indexes. */
function utilisation(components: EngineComponents, indexBytes: number): number {
  let live = 0;
  for (let number = 0; number < components.store.partitionCount; number++) {
    live += components.store.partition(number)?.log.liveBytes ?? 0;
  }
  return live / (components.store.meter.bytes - indexBytes);
}

/** Number of entries of 1,000 bytes that fill three slabs. */
const THREE_SLABS = Math.floor((SLAB_BYTES * 3) / 1118);
const COUNT = 7000;
/**
 * Bytes of the index of one partition with COUNT entries, and of the pages of the tables of
 * names.
 */
const INDEX_BYTES = 8 * 16384 + 4 * 4096;

describe('Cleaner', () => {
  it('keeps extents three quarters full, whatever is overwritten and deleted', () => {
    const { components } = componentsOf(1);
    const random = new Random(7);
    const set = (index: number) => {
      const value = Buffer.alloc(50 + random.below(101));
      setEntry(components, 'm', `key${index}`, value, 'text/plain');
    };
    for (let index = 0; index < COUNT; index++) set(index);
    for (let round = 0; round < 2; round++) {
      for (let step = 0; step < COUNT; step++) {
        const index = random.below(COUNT);
        if (random.below(5) === 0) deleteEntry(components, 'm', `key${index}`);
        else set(index);
      }
      const share = utilisation(components, INDEX_BYTES);
      assert.ok(share >= 0.75, `${share} after round ${round}`);
    }
  });

  it('empties extents that only deletes have made sparse', () => {
    const { components } = componentsOf(1);
    for (let index = 0; index < COUNT; index++) {
      setEntry(components, 'm', `key${index}`, Buffer.alloc(100));
    }
    for (let index = 0; index < COUNT; index++) {
      if (index % 10 !== 0) deleteEntry(components, 'm', `key${index}`);
    }
    assert.ok(utilisation(components, INDEX_BYTES) > 0.6);
    for (let index = 0; index < COUNT; index += 10) {
      assert.notEqual(findEntry(components, 'm', `key${index}`), 0);
    }
  });

  it('packs the cells of a partition when its memory is needed', () => {
    const { components } = componentsOf(1);
    for (let index = 0; index < COUNT; index++) {
      setEntry(components, 'm', `key${index}`, Buffer.alloc(100));
    }
    for (let index = 0; index < COUNT; index++) {
      if (index % 4 === 0) deleteEntry(components, 'm', `key${index}`);
    }
    const share = utilisation(components, INDEX_BYTES);
    components.cleaner.condense(components.store.partition(0)!);
    const packed = utilisation(components, INDEX_BYTES);
    assert.ok(share < 0.85 && packed > 0.95, `${share}, then ${packed}`);
  });

  it('moves names of maps and content types, items and rings of queues', () => {
    const { components } = componentsOf(1);
    const names = Array.from({ length: 500 }, (_, index) => `${index}`);
    const place = (name: string) => {
      const id = components.queueNames.find(span(name));
      return components.rings.get(id, components.queues.order.choose(id, 0));
    };
    const places = () => names.map((name) => place(`queue ${name}`));
    for (const name of names) {
      setEntry(components, `map ${name}`, 'k', name, `type ${name}`);
      offerItem(components, `queue ${name}`, name, `type ${name}`);
      // Removed cells are stored between remaining ones.
      for (let index = 0; index < 10; index++) {
        setEntry(components, 'm', `${name} ${index}`, Buffer.alloc(1000));
      }
    }
    const before = places();
    for (const name of names) {
      for (let index = 0; index < 10; index++) deleteEntry(components, 'm', `${name} ${index}`);
    }
    const moved = places().filter((address, index) => address !== before[index]).length;
    assert.ok(moved > names.length / 2);
    for (const name of names) {
      const { blank } = components.results;
      blank.setFound(findEntry(components, `map ${name}`, 'k'), 0, 0);
      assert.equal(blank.value.toBuffer().toString(), name);
      assert.equal(blank.contentType.toBuffer().toString(), `type ${name}`);
      blank.setFound(place(`queue ${name}`), 0, 0);
      assert.equal(blank.value.toBuffer().toString(), name);
      assert.equal(blank.contentType.toBuffer().toString(), `type ${name}`);
    }
  });

  it('reclaims space with the reserved memory when memory is full', () => {
    const { components } = componentsOf(1, { memoryBytesMax: 40 * EXTENT_BYTES });
    let count = 0;
    while (setEntry(components, 'm', `${count}`, Buffer.alloc(100)) === APPLIED) count++;
    for (let index = 0; index < count; index += 2) deleteEntry(components, 'm', `${index}`);
    let more = 0;
    while (setEntry(components, 'm', `more ${more}`, Buffer.alloc(100)) === APPLIED) more++;
    assert.ok(more > count / 3, `${more} of ${count}`);
  });

  it('empties slabs, even with full extents, if much is free elsewhere', () => {
    const { components, clock } = componentsOf(7);
    const value = (index: number) => Buffer.alloc(1000, index % 251);
    const write = (map: string, index: number) =>
      setEntry(components, map, `${index}`, value(index));
    // In each of the three slabs, some of the remaining cells fill separate extents.
    for (let index = 0; index < THREE_SLABS; index++)
      write(index % 1000 < 100 ? 'stay' : 'go', index);
    assert.equal(components.store.pool.slabCount, 3);
    components.clears.clear(span('go'));
    clock.advance(20_000);
    for (let index = 0; index < THREE_SLABS / 10; index++) write('stay', index);
    clock.advance(20_000);
    assert.equal(components.store.pool.slabCount, 1);
    for (let index = 0; index < THREE_SLABS; index++) {
      if (index % 1000 >= 100) continue;
      const address = findEntry(components, 'stay', `${index}`);
      assert.notEqual(address, 0);
      components.results.blank.setFound(address, 0, 0);
      assert.ok(components.results.blank.value.toBuffer().equals(Buffer.alloc(1000, index % 251)));
    }
  });

  it('moves indexes out of the slabs that it empties', () => {
    const { components, clock } = componentsOf(1);
    const write = (map: string, index: number, bytes: number) =>
      setEntry(components, map, `${index}`, Buffer.alloc(bytes, index % 251));
    const small = (THREE_SLABS * 2) / 3;
    // The table of the index is last moved to the third slab; the remaining entries are too many
    // for a smaller table.
    for (let index = 0; index < THREE_SLABS; index++) write('go', index, 1000);
    for (let index = 0; index < small; index++) write('stay', index, 8);
    assert.equal(components.store.pool.slabCount, 3);
    const before = components.store.partition(0)!.index!;
    const { bits, words } = before;
    components.clears.clear(span('go'));
    clock.advance(20_000);
    for (let index = 0; index < THREE_SLABS / 10; index++) write('stay', index, 8);
    clock.advance(20_000);
    assert.equal(components.store.pool.slabCount, 1);
    assert.equal(before.bits, bits);
    assert.notEqual(before.words, words);
    for (let index = 0; index < small; index++) {
      const address = findEntry(components, 'stay', `${index}`);
      assert.notEqual(address, 0);
      components.results.blank.setFound(address, 0, 0);
      assert.ok(components.results.blank.value.toBuffer().equals(Buffer.alloc(8, index % 251)));
    }
  });

  it('releases nothing to the system while a store only grows', () => {
    const { components, clock } = componentsOf(3);
    const tables = new Set<Int32Array>();
    for (let index = 0; index < 12_000; index++) {
      setEntry(components, 'm', `${index}`, 'value', 'text/plain');
      for (let number = 0; number < 3; number++) {
        const words = components.store.partition(number)?.index?.words;
        if (words !== undefined) tables.add(words);
      }
    }
    clock.advance(20_000);
    assert.equal(tables.size, 3 * 10);
    // No table reads memory that was released.
    assert.ok([...tables].every(({ length }) => length > 0));
  });
});
