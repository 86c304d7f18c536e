import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CellStore } from '../../../src/engine/embedded/cell-store.ts';
import { CONTENT_TYPES, MAP_NAMES, NameTable } from '../../../src/engine/embedded/name-table.ts';
import { EXTENT_BYTES } from '../../../src/engine/embedded/slabs.ts';
import { FakeClock } from '../../fake-clock.ts';
import { span } from '../results.ts';
import { assertEmpty } from './components-of.ts';

function newStore(memoryBytesMax = Number.POSITIVE_INFINITY): CellStore {
  return new CellStore({ partitionCount: 7, clock: new FakeClock(), memoryBytesMax });
}

describe('NameTable', () => {
  it('find returns names that were opened, and allocates nothing for others', () => {
    const store = newStore();
    const names = new NameTable(store, MAP_NAMES);
    assert.equal(names.find(span('a')), 0);
    assert.equal(store.meter.bytes, 0);
    const id = names.open(span('a'));
    assert.notEqual(id, 0);
    assert.equal(names.find(span('a')), id);
    assert.equal(names.open(span('a')), id);
    assert.equal(names.find(span('b')), 0);
    assert.equal(names.find(span('a')), id);
  });

  it('partitionOf does not depend on whether the name has an id', () => {
    const store = newStore();
    const names = new NameTable(store, MAP_NAMES);
    const partitions = ['a', 'b', 'c'].map((name) => names.partitionOf(span(name)));
    ['a', 'b', 'c'].forEach((name, index) => {
      names.open(span(name));
      assert.equal(names.partitionOf(span(name)), partitions[index]);
      assert.equal(store.partition(partitions[index]!)?.number, partitions[index]);
    });
  });

  it('a name is removed with its last use, and its id is reused', () => {
    const store = newStore();
    const names = new NameTable(store, MAP_NAMES);
    const kept = names.open(span('kept'));
    names.use(kept);
    const id = names.open(span('a'));
    names.use(id);
    names.use(id);
    names.release(id);
    assert.equal(names.find(span('a')), id);
    names.release(id);
    assert.equal(names.find(span('a')), 0);
    assert.equal(names.open(span('b')), id);
    assert.equal(names.uses(id), 0);
    names.dropUnused(id);
    names.release(kept);
    assert.equal(names.ids.count, 0);
    assertEmpty(store);
  });

  it('a retired id is not reused before it is recycled', () => {
    const names = new NameTable(newStore(), MAP_NAMES);
    const id = names.open(span('a'));
    names.use(id);
    names.retire(id);
    assert.equal(names.find(span('a')), 0);
    assert.equal(names.address(id), 0);
    const next = names.open(span('a'));
    assert.notEqual(next, id);
    names.recycle(id);
    assert.equal(names.open(span('b')), id);
  });

  it('count and useCount have the names and their uses, without those of retired ids', () => {
    const names = new NameTable(newStore(), MAP_NAMES);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => names.open(span(name)));
    for (const id of [a, a, b, c]) names.use(id!);
    assert.deepEqual([names.count, names.useCount], [3, 4]);
    names.retire(a!);
    assert.deepEqual([names.count, names.useCount], [2, 2]);
    names.release(b!);
    assert.deepEqual([names.count, names.useCount], [1, 1]);
    names.recycle(a!);
    assert.deepEqual([names.count, names.useCount], [1, 1]);
    assert.deepEqual([names.next(0), names.next(c!)], [c, 0]);
  });

  it('next returns the ids in use, also retired ones, whose name is empty', () => {
    const names = new NameTable(newStore(), MAP_NAMES);
    for (const name of ['a', 'b', 'c']) names.use(names.open(span(name)));
    const [a, b, c] = ['a', 'b', 'c'].map((name) => names.find(span(name)));
    names.retire(b!);
    assert.deepEqual([names.next(0), names.next(a!), names.next(b!), names.next(c!)], [a, b, c, 0]);
    const name = span('before');
    names.name(b!, name);
    assert.equal(name.length, 0);
    names.name(c!, name);
    assert.equal(name.toBuffer().toString(), 'c');
  });

  it('tables in one store are separate', () => {
    const store = newStore();
    const maps = new NameTable(store, MAP_NAMES);
    const types = new NameTable(store, CONTENT_TYPES);
    maps.use(maps.open(span('a')));
    assert.equal(types.find(span('a')), 0);
    const type = types.open(span('a'));
    types.dropUnused(type);
    assert.notEqual(maps.find(span('a')), 0);
  });

  it('open returns 0 when there is no memory, and leaves nothing allocated', () => {
    const store = newStore(EXTENT_BYTES + 1000);
    const names = new NameTable(store, MAP_NAMES);
    assert.equal(names.open(span('a')), 0);
    assertEmpty(store);
    assert.equal(names.find(span('a')), 0);
  });

  it('100,000 names use at most 100 bytes each', () => {
    const store = newStore();
    const names = new NameTable(store, MAP_NAMES);
    for (let index = 0; index < 100_000; index++) {
      names.use(names.open(span(`name ${String(index).padStart(7, '0')}`)));
    }
    assert.ok(store.meter.bytes / 100_000 <= 100, `${store.meter.bytes / 100_000}`);
    for (let index = 0; index < 100_000; index += 1000) {
      assert.equal(names.find(span(`name ${String(index).padStart(7, '0')}`)), index + 1);
    }
  });
});
