/** The list of a lane's chunks, oldest first. Tested by lane.spec.ts. */
import { type ChunkPool, LANE_CHUNK_BYTES_MAX } from './chunk-pool.ts';
import type { LaneChunk } from './lane-chunk.ts';
import { recordBytes } from './lane-record.ts';

export class ChunkList {
  readonly list: LaneChunk[] = [];
  readonly #pool: ChunkPool;

  constructor(pool: ChunkPool) {
    this.#pool = pool;
  }

  /** Returns the last chunk if the event's record fits, or adds a chunk that begins at `tail`. */
  withRoom(eventBytes: number, tail: number): LaneChunk {
    const last = this.list.at(-1);
    if (last?.hasRoom(eventBytes)) return last;
    // Each chunk is twice as long as the previous one, up to LANE_CHUNK_BYTES_MAX.
    const doubled = last === undefined ? 0 : Math.min(LANE_CHUNK_BYTES_MAX, last.bytes.length * 2);
    const chunk = this.#pool.acquire(Math.max(recordBytes(eventBytes), doubled), tail);
    this.list.push(chunk);
    return chunk;
  }

  /** Returns the chunk of the record at that position. */
  at(position: number): LaneChunk {
    let low = 0;
    let high = this.list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.list[middle]!.start <= position) low = middle;
      else high = middle - 1;
    }
    return this.list[low]!;
  }

  /** Drops the first chunks, which have no live record. */
  drop(count: number): void {
    if (count === 0) return;
    for (const chunk of this.list.splice(0, count)) this.#pool.release(chunk);
  }

  /**
   * Visits the records from position `from` on, with their heads' offsets, until `visit` is false.
   */
  walk(from: number, visit: (chunk: LaneChunk, head: number, position: number) => boolean): void {
    for (const chunk of this.list) {
      for (let index = Math.max(0, from - chunk.start); index < chunk.count; index++) {
        if (!visit(chunk, chunk.headAt(index), chunk.start + index)) return;
      }
    }
  }
}
