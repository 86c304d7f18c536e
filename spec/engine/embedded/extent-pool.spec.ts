import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExtentPool } from '../../../src/engine/embedded/extent-pool.ts';
import { MemoryMeter } from '../../../src/engine/embedded/memory-meter.ts';
import { EXTENT_BYTES, EXTENTS_PER_SLAB, SLAB_BYTES } from '../../../src/engine/embedded/slabs.ts';
import { FakeClock } from '../../fake-clock.ts';

function pool(bytesMax = Number.POSITIVE_INFINITY) {
  const meter = new MemoryMeter(bytesMax, EXTENT_BYTES);
  const clock = new FakeClock();
  return { meter, clock, pool: new ExtentPool(meter, clock) };
}

describe('ExtentPool', () => {
  it('allocates each extent to one owner at a time, the lowest free one first', () => {
    const { pool: extents } = pool();
    const taken = Array.from({ length: 40 }, () => extents.allocateExtent(false));
    assert.equal(new Set(taken).size, 40);
    assert.ok(taken.every((extent) => extent > 0));
    extents.freeExtent(taken[30]!);
    extents.freeExtent(taken[10]!);
    extents.freeExtent(taken[20]!);
    assert.equal(extents.allocateExtent(false), taken[10]);
    assert.equal(extents.allocateExtent(false), taken[20]);
    assert.equal(extents.allocateExtent(false), taken[30]);
  });

  it('has its first slab at once if it has a stock, otherwise when it needs it', () => {
    const { pool: extents, meter, clock } = pool();
    assert.equal(extents.slabCount, 0);
    assert.equal(extents.allocateExtent(false), 1);
    assert.equal(extents.slabCount, 1);
    for (const stockBytes of [1, 2 ** 30]) {
      const ready = new ExtentPool(meter, clock, stockBytes);
      assert.equal(ready.slabCount, 1);
      assert.equal(ready.allocateExtent(false), 1);
      assert.equal(ready.slabCount, 1);
      ready.close();
    }
  });

  it('extents do not overlap, and an address refers to its own bytes', () => {
    const { pool: extents } = pool();
    const taken = Array.from({ length: 9 }, () => extents.allocateExtent(false));
    for (const extent of taken) {
      for (let offset = 0; offset < EXTENT_BYTES; offset += 8) {
        const address = extents.address(extent, offset);
        assert.notEqual(address, 0);
        extents.words(address)[extents.at(address)] = address;
      }
    }
    for (const extent of taken) {
      for (let offset = 0; offset < EXTENT_BYTES; offset += 8) {
        const address = extents.address(extent, offset);
        assert.equal(extents.extent(address), extent);
        assert.equal(extents.words(address)[extents.at(address)], address);
        assert.equal(extents.bytes(address).readInt32LE(extents.at(address) * 4), address);
      }
    }
  });

  it('a long cell has a buffer of exactly its length, which is dropped when it is freed', () => {
    const { pool: extents, meter } = pool();
    const address = extents.allocateLong(200_008);
    assert.equal(extents.extent(address), 0);
    assert.equal(extents.bytes(address).length, 200_008);
    assert.equal(extents.at(address), 0);
    assert.equal(meter.bytes, 200_008);
    extents.freeLong(address);
    assert.equal(meter.bytes, 0);
    assert.equal(extents.bytes(address).length, 0);
    assert.equal(extents.allocateLong(80), address);
  });

  it('a cell of 256 KiB to half a slab has consecutive extents, which are reused', () => {
    const { pool: extents, meter, clock } = pool();
    const single = extents.allocateExtent(false);
    const half = SLAB_BYTES / 2;
    const lengths = [262_144, half, 262_152, 1_000_000, half - 99_992, half / 2 + 8];
    const taken = lengths.map((length) => extents.allocateLong(length));
    const between = extents.allocateExtent(false);
    const count = lengths.reduce((sum, length) => sum + Math.ceil(length / EXTENT_BYTES), 2);
    assert.equal(meter.bytes, count * EXTENT_BYTES);
    taken.forEach((address, index) => {
      assert.equal(extents.bytes(address).length, lengths[index]);
      assert.equal(extents.words(address).length, lengths[index]! / 4);
      extents.bytes(address).fill(index + 1);
    });
    for (const extent of [single, between]) {
      const at = extents.at(extents.address(extent, 0)) * 4;
      extents.bytes(extents.address(extent, 0)).fill(99, at, at + EXTENT_BYTES);
    }
    taken.forEach((address, index) => {
      const bytes = extents.bytes(address);
      assert.ok(bytes.equals(Buffer.alloc(bytes.length, index + 1)), `${index}`);
    });
    extents.pin(taken[1]!);
    for (const address of taken) extents.freeLong(address);
    assert.equal(meter.bytes, 2 * EXTENT_BYTES + half);
    clock.advance(10_000);
    assert.equal(extents.bytes(taken[1]!)[half - 1], 2);
    extents.unpin(taken[1]!);
    extents.freeExtent(single);
    extents.freeExtent(between);
    clock.advance(10_000);
    assert.equal(extents.slabCount, 0);
    assert.equal(meter.bytes, 0);
  });

  it('a pinned buffer remains, and is accounted for, until the last pin is released', () => {
    const { pool: extents, meter } = pool();
    const address = extents.allocateLong(80_000);
    const bytes = extents.bytes(address);
    extents.pin(address);
    extents.pin(address);
    assert.ok(!extents.writable(address));
    extents.freeLong(address);
    extents.unpin(address);
    assert.equal(meter.bytes, 80_000);
    assert.equal(extents.bytes(address), bytes);
    extents.unpin(address);
    assert.equal(meter.bytes, 0);
  });

  it('memory freed while freed memory is retained is not reused', () => {
    const { pool: extents } = pool();
    const extent = extents.allocateExtent(false);
    const long = extents.allocateLong(80_000);
    extents.retainFreed();
    extents.retainFreed();
    extents.freeExtent(extent);
    extents.freeLong(long);
    extents.reuseFreed();
    assert.notEqual(extents.allocateExtent(false), extent);
    assert.notEqual(extents.allocateLong(80_000), long);
    assert.equal(extents.bytes(long).length, 80_000);
    extents.reuseFreed();
    assert.equal(extents.allocateExtent(false), extent);
    assert.equal(extents.allocateLong(80_000), long);
  });

  it('allocates no more than the limit, and the last extent only from the reserve', () => {
    const { pool: extents, meter } = pool(3 * EXTENT_BYTES);
    assert.notEqual(extents.allocateExtent(false), 0);
    assert.equal(extents.allocateLong(EXTENT_BYTES + 8), 0);
    const second = extents.allocateExtent(false);
    assert.notEqual(second, 0);
    assert.equal(extents.allocateExtent(false), 0);
    assert.equal(extents.allocateLong(8), 0);
    const third = extents.allocateExtent(true);
    assert.notEqual(third, 0);
    assert.equal(extents.allocateExtent(true), 0);
    assert.equal(meter.bytes, 3 * EXTENT_BYTES);
    extents.freeExtent(third);
    extents.freeExtent(second);
    assert.notEqual(extents.allocateExtent(false), 0);
  });

  it('releases slabs that have been empty for a second, and allocates new ones when needed', () => {
    const { pool: extents, clock } = pool();
    const taken = Array.from({ length: 4 * EXTENTS_PER_SLAB - 1 }, () =>
      extents.allocateExtent(false),
    );
    const kept = EXTENTS_PER_SLAB + 8;
    assert.equal(extents.slabCount, 4);
    const views = taken.map((extent) => extents.words(extents.address(extent, 0)));
    for (const extent of taken.slice(kept)) extents.freeExtent(extent);
    clock.advance(900);
    assert.equal(extents.slabCount, 4);
    clock.advance(200);
    assert.equal(extents.slabCount, 2);
    assert.equal(views.at(-1)?.length, 0);
    assert.equal(clock.timerCount, 0);
    for (const extent of taken.slice(0, kept)) extents.freeExtent(extent);
    const again = extents.allocateExtent(false);
    clock.advance(10_000);
    assert.equal(extents.slabCount, 1);
    extents.freeExtent(again);
    clock.advance(10_000);
    assert.equal(extents.slabCount, 0);
    assert.deepEqual(
      taken.map(() => extents.allocateExtent(false)),
      taken,
    );
    assert.equal(extents.slabCount, 4);
  });

  it('releases the buffers of long cells, several at once or after a second', () => {
    const { pool: extents, clock } = pool();
    const taken = Array.from({ length: 70 }, () => extents.allocateLong(20_000));
    const buffers = taken.map((address) => extents.bytes(address));
    for (const address of taken) extents.freeLong(address);
    assert.equal(buffers.filter(({ length }) => length > 0).length, 6);
    clock.advance(1100);
    assert.equal(buffers.filter(({ length }) => length > 0).length, 0);
    assert.equal(clock.timerCount, 0);
  });
});
