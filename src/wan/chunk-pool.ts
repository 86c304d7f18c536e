/**
 * The chunks in which lanes keep their records, and batches lie until they are answered, given again and
 * again: fresh memory for each costs page faults, and collections of the whole heap, as it lies outside of
 * that.
 */
import { LaneChunk } from './lane-chunk.ts';

/** Lengths of chunks are powers of two between these; a longer record has a chunk of its own length. */
const CHUNK_BYTES_MIN = 2048;
export const CHUNK_BYTES_MAX = 262_144;
/** Bytes of free chunks that are kept. */
const FREE_BYTES_MAX = 4_194_304;

export class ChunkPool {
  /** By length. */
  readonly #free = new Map<number, LaneChunk[]>();
  #freeBytes = 0;

  /** An empty chunk of these bytes or more, which begins at this position. */
  take(bytes: number, start: number): LaneChunk {
    const length = lengthFor(bytes);
    let chunk = this.#free.get(length)?.pop();
    if (chunk === undefined) chunk = new LaneChunk(length);
    else this.#freeBytes -= length;
    chunk.start = start;
    chunk.count = 0;
    chunk.used = 0;
    return chunk;
  }

  /** The lane does not use the chunk any more. */
  give(chunk: LaneChunk): void {
    const { length } = chunk.bytes;
    if (chunk.isShared || length > CHUNK_BYTES_MAX) return;
    if (this.#freeBytes + length > FREE_BYTES_MAX) return;
    this.#freeBytes += length;
    const free = this.#free.get(length);
    if (free === undefined) this.#free.set(length, [chunk]);
    else free.push(chunk);
  }
}

function lengthFor(bytes: number): number {
  if (bytes > CHUNK_BYTES_MAX) return bytes;
  let length = CHUNK_BYTES_MIN;
  while (length < bytes) length *= 2;
  return length;
}
