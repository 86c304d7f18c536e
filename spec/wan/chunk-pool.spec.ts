/** Chunks that the pool reuses, and those that it does not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ViewedBytes } from '../../src/base/copy-bytes.ts';
import { SET } from '../../src/engine/mutation.ts';
import { ChunkPool, LANE_CHUNK_BYTES_MAX } from '../../src/wan/chunk-pool.ts';
import { Lane } from '../../src/wan/lane.ts';
import type { LaneChunk } from '../../src/wan/lane-chunk.ts';
import type { LaneContent } from '../../src/wan/lane-content.ts';
import { changeOf } from './messages.ts';

describe('ChunkPool', () => {
  it('returns chunks whose lengths are powers of two, and separate chunks for longer records', () => {
    const pool = new ChunkPool();
    const wanted = [1, 2048, 2048 + 1, LANE_CHUNK_BYTES_MAX, LANE_CHUNK_BYTES_MAX + 8];
    const lengths = wanted.map((bytes) => pool.acquire(bytes, 0).bytes.length);
    assert.deepEqual(lengths, [2048, 2048, 4096, 262_144, 262_152]);
  });

  it('returns a chunk again, empty, at its new position', () => {
    const pool = new ChunkPool();
    const chunk = pool.acquire(3000, 0);
    chunk.used = 3000;
    pool.release(chunk);
    assert.notEqual(pool.acquire(2048, 0), chunk);
    const again = pool.acquire(4000, 5000);
    assert.equal(again, chunk);
    assert.deepEqual([again.start, again.used], [5000, 0]);
    assert.notEqual(pool.acquire(4000, 0), chunk);
  });

  it('does not reuse chunks that are shared, or have a special length', () => {
    const pool = new ChunkPool();
    for (const [bytes, isShared] of [
      [4000, true],
      [LANE_CHUNK_BYTES_MAX + 8, false],
    ] as const) {
      const chunk = pool.acquire(bytes, 0);
      chunk.isShared = isShared;
      pool.release(chunk);
      assert.notEqual(pool.acquire(bytes, 0), chunk);
    }
  });

  it('retains at most 4 MiB of free chunks', () => {
    const pool = new ChunkPool();
    const count = 16;
    const chunks = Array.from({ length: count + 1 }, () => pool.acquire(LANE_CHUNK_BYTES_MAX, 0));
    for (const chunk of chunks) pool.release(chunk);
    const taken = new Set<LaneChunk>();
    for (const _ of chunks) taken.add(pool.acquire(LANE_CHUNK_BYTES_MAX, 0));
    assert.deepEqual(
      chunks.map((chunk) => taken.has(chunk)),
      chunks.map((_, index) => index < count),
    );
  });
});

describe('Lane.cut', () => {
  it('contains the records of its time, whatever the lane does with its chunks', () => {
    const lane = new Lane(0, { events: 0, bytes: 0 }, new ChunkPool());
    const fill = (value: string) => {
      for (let key = 0; key < 20; key++) {
        lane.append(changeOf(SET, `k${key}`, value.repeat(100)), 0, 0, false);
      }
    };
    const textOf = (content: LaneContent): string => {
      const to = new ViewedBytes(65_536);
      return to.bytes.toString('latin1', 0, content.copy(to, 0, to.length));
    };
    fill('a');
    const removed = lane.cut([0]);
    lane.remove(20);
    fill('b');
    // Records removed before the copy are omitted.
    assert.equal(textOf(removed), '');
    const content = lane.cut([0]);
    fill('c');
    const text = textOf(content);
    assert.equal(text.match(/b{100}/g)?.length, 20);
    assert.equal(text.includes('c'.repeat(100)), false);
  });
});
