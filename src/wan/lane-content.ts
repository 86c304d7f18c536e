/**
 * A snapshot of the events waiting in a lane, to be copied in steps. It references the lane's
 * chunks at that moment, whose bytes stay in place whatever happens to the lane. Records that die
 * meanwhile are left out, except those that the lane's compaction moved before they died.
 * Tested by chunk-pool.spec.ts.
 */
import type { Viewed } from '../base/copy-bytes.ts';
import { copyPlaced, placedEventBytes } from './event-codec.ts';
import type { LaneChunk } from './lane-chunk.ts';
import { eventBytesAt, isDeadAt, offsetAt, partitionAt } from './lane-record.ts';

/** Records examined per step. */
const RECORDS_PER_STEP = 4096;

export class LaneContent {
  readonly partitions: readonly number[];
  /** Bytes that the next step needs if the last one had no room; otherwise 0. */
  bytesNeeded = 0;
  isDone: boolean;
  /** Chunks that are not copied yet; the first one contains the record at `#position`. */
  readonly #chunks: LaneChunk[];
  #position: number;
  /** Position after the last record. */
  readonly #end: number;

  constructor(
    partitions: readonly number[],
    chunks: readonly LaneChunk[],
    head: number,
    end: number,
  ) {
    this.partitions = partitions;
    this.#chunks = [...chunks];
    this.#position = head;
    this.#end = end;
    this.isDone = head === end;
  }

  /**
   * Copies the next live records to `at` in the file format, as far as they fit before `end`.
   * Returns the offset after them.
   */
  copy(to: Viewed, at: number, end: number): number {
    let next = at;
    this.bytesNeeded = 0;
    for (let step = 0; step < RECORDS_PER_STEP; step++) {
      const chunk = this.#chunk();
      if (chunk === undefined) break;
      const head = chunk.headAt(this.#position - chunk.start);
      if (!isDeadAt(chunk.view, head)) {
        const { view } = chunk;
        const length = eventBytesAt(view, head);
        const bytes = placedEventBytes(length);
        if (bytes > end - next) {
          this.bytesNeeded = bytes;
          break;
        }
        const sequence = view.getFloat64(head + 8, true);
        const event = offsetAt(view, head);
        next = copyPlaced(chunk.bytes, event, length, to, next, partitionAt(view, head), sequence);
      }
      this.#position++;
    }
    return next;
  }

  /** Returns the chunk of the next record; undefined at the end. */
  #chunk(): LaneChunk | undefined {
    const chunks = this.#chunks;
    if (this.#position >= this.#end) {
      chunks.length = 0;
      this.isDone = true;
      return undefined;
    }
    while (this.#position >= chunks[0]!.start + chunks[0]!.count) chunks.shift();
    return chunks[0];
  }
}
