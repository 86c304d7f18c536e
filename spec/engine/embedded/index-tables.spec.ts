import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { IndexTables } from '../../../src/engine/embedded/index-tables.ts';
import {
  EXTENT_BYTES,
  EXTENTS_PER_SLAB,
  SLAB_BYTES,
  Slabs,
} from '../../../src/engine/embedded/slabs.ts';
import { FakeClock } from '../../fake-clock.ts';

const SLABS_MAX = 8;
/** Extents of the longest row. */
const HALF = EXTENTS_PER_SLAB / 2;

function newTables() {
  const clock = new FakeClock();
  const slabs = new Slabs(clock, SLABS_MAX, 0);
  return { clock, slabs, tables: new IndexTables(slabs) };
}

function isFilled(words: Int32Array, word: number): boolean {
  const bytes = Buffer.from(words.buffer, words.byteOffset, words.byteLength);
  return words[0] === word && bytes.subarray(4).equals(bytes.subarray(0, -4));
}

describe('IndexTables', () => {
  it('tables of any size are zero, do not overlap, and leave nothing allocated', () => {
    const step = fc.record({ bits: fc.integer({ min: 7, max: 21 }), frees: fc.nat(40) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const { clock, slabs, tables } = newTables();
        const taken: { place: number; words: Int32Array<ArrayBuffer>; mark: number }[] = [];
        const free = (index: number) => {
          const [{ place, words, mark }] = taken.splice(index, 1) as [(typeof taken)[number]];
          assert.ok(isFilled(words, mark));
          tables.free(place, words);
        };
        [{ bits: 12, frees: 40 }, ...steps].forEach(({ bits, frees }, index) => {
          const place = tables.allocate(2 ** bits);
          const words = tables.words(place, 2 ** bits);
          assert.equal(words.byteLength, 2 ** bits);
          assert.ok(isFilled(words, 0));
          taken.push({ place, words: words.fill(index + 1), mark: index + 1 });
          if (frees < taken.length) free(frees);
          const lying = taken.map(({ place, words }) => ({ place, bytes: words.byteLength }));
          tables.invariants(lying, new Set());
        });
        while (taken.length > 0) free(0);
        clock.advance(10_000);
        assert.equal(slabs.count, 0);
      }),
      { numRuns: 15 },
    );
  });

  it('the memory of a freed table is reused by the next one, or by cells', () => {
    const { slabs, tables } = newTables();
    const pages = Array.from({ length: 16 }, () => tables.allocate(4096));
    assert.equal(new Set(pages.map((place) => place >> 4)).size, 1);
    const words = pages.map((place) => tables.words(place, 4096));
    tables.free(pages[4]!, words[4]!);
    tables.free(pages[6]!, words[6]!);
    tables.free(pages[7]!, words[7]!);
    assert.equal(tables.allocate(8192), pages[6]);
    assert.equal(tables.allocate(4096), pages[4]);
    const extent = tables.allocate(EXTENT_BYTES);
    tables.free(extent, tables.words(extent, EXTENT_BYTES));
    assert.equal(slabs.allocate() << 4, extent);
  });

  it('tables below a page and above half a slab have separate buffers', () => {
    const { tables } = newTables();
    for (const bytes of [128, 2048, SLAB_BYTES]) {
      assert.equal(tables.allocate(bytes), 0);
      const words = tables.words(0, bytes);
      assert.equal(words.buffer.byteLength, bytes);
      tables.free(0, words);
    }
    assert.notEqual(tables.allocate(4096), 0);
    assert.notEqual(tables.allocate(SLAB_BYTES / 2), 0);
  });

  it('without slabs each table has a separate buffer', () => {
    const { slabs, tables } = newTables();
    while (slabs.allocateRow(HALF) !== 0);
    while (slabs.allocate() !== 0);
    assert.equal(tables.allocate(4096), 0);
    assert.equal(tables.allocate(EXTENT_BYTES), 0);
  });

  it('no table is allocated in a slab that will be emptied', () => {
    const { slabs, tables } = newTables();
    // Four slabs full of rows, and a table in the fifth.
    const rows = [slabs.allocateRow(HALF), slabs.allocateRow(HALF - 1)];
    while (rows.length < 8) rows.push(slabs.allocateRow(HALF));
    const place = tables.allocate(EXTENT_BYTES);
    assert.ok(!tables.isEvacuated(place));
    for (const row of rows.slice(2)) {
      for (let extent = row + 1; extent < row + HALF; extent++) slabs.free(extent);
    }
    assert.ok(tables.isEvacuated(place));
    for (const bytes of [4096, EXTENT_BYTES]) {
      const moved = tables.allocate(bytes);
      assert.notEqual(moved, 0);
      assert.ok(!tables.isEvacuated(moved));
    }
    assert.equal(tables.allocate(SLAB_BYTES / 2), 0);
  });
});
