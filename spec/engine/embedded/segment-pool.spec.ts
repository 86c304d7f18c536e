import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryMeter } from '../../../src/engine/embedded/memory-meter.ts';
import { SegmentPool } from '../../../src/engine/embedded/segment-pool.ts';
import { SEGMENT_BYTES } from '../../../src/engine/embedded/slabs.ts';
import { FakeClock } from '../../fake-clock.ts';

function pool(bytesMax = Number.POSITIVE_INFINITY) {
  const meter = new MemoryMeter(bytesMax, SEGMENT_BYTES);
  const clock = new FakeClock();
  return { meter, clock, pool: new SegmentPool(meter, clock) };
}

describe('SegmentPool', () => {
  it('hands out each segment to one at a time, the lowest free one first', () => {
    const { pool: segments } = pool();
    const taken = Array.from({ length: 40 }, () => segments.takeSegment(false));
    assert.equal(new Set(taken).size, 40);
    assert.ok(taken.every((segment) => segment > 0));
    segments.freeSegment(taken[30]!);
    segments.freeSegment(taken[10]!);
    segments.freeSegment(taken[20]!);
    assert.equal(segments.takeSegment(false), taken[10]);
    assert.equal(segments.takeSegment(false), taken[20]);
    assert.equal(segments.takeSegment(false), taken[30]);
  });

  it('segments do not overlap, and an address names its own bytes', () => {
    const { pool: segments } = pool();
    const taken = Array.from({ length: 9 }, () => segments.takeSegment(false));
    for (const segment of taken) {
      for (let offset = 0; offset < SEGMENT_BYTES; offset += 8) {
        const address = segments.address(segment, offset);
        assert.notEqual(address, 0);
        segments.words(address)[segments.at(address)] = address;
      }
    }
    for (const segment of taken) {
      for (let offset = 0; offset < SEGMENT_BYTES; offset += 8) {
        const address = segments.address(segment, offset);
        assert.equal(segments.segment(address), segment);
        assert.equal(segments.words(address)[segments.at(address)], address);
        assert.equal(segments.bytes(address).readInt32LE(segments.at(address) * 4), address);
      }
    }
  });

  it('a long record has a buffer of exactly its length, which is let go of when it is freed', () => {
    const { pool: segments, meter } = pool();
    const address = segments.takeLong(200_008);
    assert.equal(segments.segment(address), 0);
    assert.equal(segments.bytes(address).length, 200_008);
    assert.equal(segments.at(address), 0);
    assert.equal(meter.bytes, 200_008);
    segments.freeLong(address);
    assert.equal(meter.bytes, 0);
    assert.equal(segments.bytes(address).length, 0);
    assert.equal(segments.takeLong(80), address);
  });

  it('a record of 256 KiB to 16 MiB has segments in a row, which are used again', () => {
    const { pool: segments, meter, clock } = pool();
    const single = segments.takeSegment(false);
    const lengths = [262_144, 16_777_216, 262_152, 1_000_000, 16_000_000, 8_388_616];
    const taken = lengths.map((length) => segments.takeLong(length));
    const between = segments.takeSegment(false);
    const count = lengths.reduce((sum, length) => sum + Math.ceil(length / SEGMENT_BYTES), 2);
    assert.equal(meter.bytes, count * SEGMENT_BYTES);
    taken.forEach((address, index) => {
      assert.equal(segments.bytes(address).length, lengths[index]);
      assert.equal(segments.words(address).length, lengths[index]! / 4);
      segments.bytes(address).fill(index + 1);
    });
    for (const segment of [single, between]) {
      const at = segments.at(segments.address(segment, 0)) * 4;
      segments.bytes(segments.address(segment, 0)).fill(99, at, at + SEGMENT_BYTES);
    }
    taken.forEach((address, index) => {
      const bytes = segments.bytes(address);
      assert.ok(bytes.equals(Buffer.alloc(bytes.length, index + 1)), `${index}`);
    });
    segments.pin(taken[1]!);
    for (const address of taken) segments.freeLong(address);
    assert.equal(meter.bytes, (2 + 256) * SEGMENT_BYTES);
    clock.advance(10_000);
    assert.equal(segments.bytes(taken[1]!)[16_777_215], 2);
    segments.unpin(taken[1]!);
    segments.freeSegment(single);
    segments.freeSegment(between);
    clock.advance(10_000);
    assert.equal(segments.slabCount, 0);
    assert.equal(meter.bytes, 0);
  });

  it('a pinned buffer stays, and is accounted for, until the last pin is gone', () => {
    const { pool: segments, meter } = pool();
    const address = segments.takeLong(80_000);
    const bytes = segments.bytes(address);
    segments.pin(address);
    segments.pin(address);
    assert.ok(!segments.writable(address));
    segments.freeLong(address);
    segments.unpin(address);
    assert.equal(meter.bytes, 80_000);
    assert.equal(segments.bytes(address), bytes);
    segments.unpin(address);
    assert.equal(meter.bytes, 0);
  });

  it('while it is held nothing freed is used again', () => {
    const { pool: segments } = pool();
    const segment = segments.takeSegment(false);
    const long = segments.takeLong(80_000);
    segments.hold();
    segments.hold();
    segments.freeSegment(segment);
    segments.freeLong(long);
    segments.letGo();
    assert.notEqual(segments.takeSegment(false), segment);
    assert.notEqual(segments.takeLong(80_000), long);
    assert.equal(segments.bytes(long).length, 80_000);
    segments.letGo();
    assert.equal(segments.takeSegment(false), segment);
    assert.equal(segments.takeLong(80_000), long);
  });

  it('hands out no more than there is, and the last segment to those alone who may have it', () => {
    const { pool: segments, meter } = pool(3 * SEGMENT_BYTES);
    assert.notEqual(segments.takeSegment(false), 0);
    assert.equal(segments.takeLong(SEGMENT_BYTES + 8), 0);
    const second = segments.takeSegment(false);
    assert.notEqual(second, 0);
    assert.equal(segments.takeSegment(false), 0);
    assert.equal(segments.takeLong(8), 0);
    const third = segments.takeSegment(true);
    assert.notEqual(third, 0);
    assert.equal(segments.takeSegment(true), 0);
    assert.equal(meter.bytes, 3 * SEGMENT_BYTES);
    segments.freeSegment(third);
    segments.freeSegment(second);
    assert.notEqual(segments.takeSegment(false), 0);
  });

  it('gives slabs back that have been empty for a second, and makes them anew when needed', () => {
    const { pool: segments, clock } = pool();
    const taken = Array.from({ length: 2000 }, () => segments.takeSegment(false));
    assert.equal(segments.slabCount, 4);
    const views = taken.map((segment) => segments.words(segments.address(segment, 0)));
    for (const segment of taken.slice(600)) segments.freeSegment(segment);
    clock.advance(900);
    assert.equal(segments.slabCount, 4);
    clock.advance(200);
    assert.equal(segments.slabCount, 2);
    assert.equal(views.at(-1)?.length, 0);
    assert.equal(clock.timerCount, 0);
    for (const segment of taken.slice(0, 600)) segments.freeSegment(segment);
    const again = segments.takeSegment(false);
    clock.advance(10_000);
    assert.equal(segments.slabCount, 1);
    segments.freeSegment(again);
    clock.advance(10_000);
    assert.equal(segments.slabCount, 0);
    assert.deepEqual(
      taken.map(() => segments.takeSegment(false)),
      taken,
    );
    assert.equal(segments.slabCount, 4);
  });

  it('gives the buffers of long records back, several at once or after a second', () => {
    const { pool: segments, clock } = pool();
    const taken = Array.from({ length: 70 }, () => segments.takeLong(20_000));
    const buffers = taken.map((address) => segments.bytes(address));
    for (const address of taken) segments.freeLong(address);
    assert.equal(buffers.filter(({ length }) => length > 0).length, 6);
    clock.advance(1100);
    assert.equal(buffers.filter(({ length }) => length > 0).length, 0);
    assert.equal(clock.timerCount, 0);
  });
});
