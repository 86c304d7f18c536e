/**
 * What waits in a lane at one moment, to be copied piece by piece. It has the lane's chunks as they were:
 * their bytes stay where they are, whatever becomes of the lane. Records that die meanwhile are left out, but
 * not those that the lane has moved elsewhere before they died.
 */
import type { LaneChunk } from './lane-chunk.ts';
import { FILE_HEAD_BYTES, fileRecordBytes, isDeadAt, offsetAt } from './lane-record.ts';

/** Records of one step. */
const RECORDS_PER_STEP = 4096;

export class LaneContent {
  readonly partitions: readonly number[];
  /** Bytes that the next step needs, where the last one had no room; otherwise 0. */
  bytesNeeded = 0;
  isDone: boolean;
  /** Those that are not copied; the first one from `#position` on. */
  readonly #chunks: LaneChunk[];
  #position: number;
  /** Position behind the last record. */
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
   * Copies the next records that are live to `at`, as those of a file, as far as they end by `end`. Returns
   * the offset behind.
   */
  copy(to: Buffer, at: number, end: number): number {
    let next = at;
    this.bytesNeeded = 0;
    for (let step = 0; step < RECORDS_PER_STEP; step++) {
      const chunk = this.#chunk();
      if (chunk === undefined) break;
      const head = chunk.headAt(this.#position - chunk.start);
      if (!isDeadAt(chunk.view, head)) {
        const bytes = fileRecordBytes(chunk.view.getUint32(head, true));
        if (bytes > end - next) {
          this.bytesNeeded = bytes;
          break;
        }
        copyRecord(chunk, head, to, next, next + bytes);
        next += bytes;
      }
      this.#position++;
    }
    return next;
  }

  /** The chunk of the next record; undefined at the end. */
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

function copyRecord(
  { bytes, view }: LaneChunk,
  head: number,
  to: Buffer,
  at: number,
  end: number,
): void {
  const event = offsetAt(view, head);
  bytes.copy(to, at, head, head + FILE_HEAD_BYTES);
  const length = view.getUint32(head, true);
  const behind = at + FILE_HEAD_BYTES + bytes.copy(to, at + FILE_HEAD_BYTES, event, event + length);
  to.fill(0, behind, end);
}
