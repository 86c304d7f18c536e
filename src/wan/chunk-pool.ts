/**
 * Pool of the chunks that store the records of lanes and the batches in flight. Allocating a new
 * chunk each time would cost page faults, and full garbage collections, as the memory is outside
 * the heap.
 */
import { LaneChunk } from './lane-chunk.ts';

/**
 * Lengths of pooled chunks, in bytes: powers of two. A longer record gets a chunk of its length.
 */
const CHUNK_BYTES_MIN = 2048;
export const LANE_CHUNK_BYTES_MAX = 262_144;
/** Maximum size of the free chunks, in bytes. */
const FREE_BYTES_MAX = 4_194_304;

export class ChunkPool {
  /** Free chunks by length. */
  readonly #free = new Map<number, LaneChunk[]>();
  #freeBytes = 0;

  /** Returns an empty chunk of at least this many bytes that begins at position `start`. */
  acquire(bytes: number, start: number): LaneChunk {
    const length = lengthFor(bytes);
    let chunk = this.#free.get(length)?.pop();
    if (chunk === undefined) chunk = new LaneChunk(length);
    else this.#freeBytes -= length;
    chunk.start = start;
    chunk.count = 0;
    chunk.used = 0;
    return chunk;
  }

  /** Returns a chunk that is no longer used to the pool. */
  release(chunk: LaneChunk): void {
    const { length } = chunk.bytes;
    if (chunk.isShared || length > LANE_CHUNK_BYTES_MAX) return;
    if (this.#freeBytes + length > FREE_BYTES_MAX) return;
    this.#freeBytes += length;
    const free = this.#free.get(length);
    if (free === undefined) this.#free.set(length, [chunk]);
    else free.push(chunk);
  }
}

function lengthFor(bytes: number): number {
  if (bytes > LANE_CHUNK_BYTES_MAX) return bytes;
  let length = CHUNK_BYTES_MIN;
  while (length < bytes) length *= 2;
  return length;
}
