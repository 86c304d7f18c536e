/**
 * The events of one lane of a publisher, first in, first out, from their recording to their
 * acknowledgement. They lie as bytes in chunks, outside the JavaScript heap, in the form that a batch has
 * them in, as records (lane-record.ts).
 *
 * A position counts the bytes of the lane since its beginning; records lie without gaps from the head to the
 * tail. A record may be dead: nothing is sent of it. The first live ones may be numbered: they have been in a
 * batch, so that their numbers belong to them, and a later batch begins with them. The head is at a live
 * record, or at the tail.
 */

import assert from 'node:assert';
import type { Viewed } from '../base/short-copies.ts';
import { EVERY_PARTITION } from '../engine/engine.ts';
import type { Mutation } from '../engine/mutation.ts';
import { CHUNK_BYTES_MAX, type ChunkPool, type LaneChunk } from './chunk-pool.ts';
import { eventBytes, isOnPath, writeEvent } from './event-codec.ts';
import { LaneContent } from './lane-content.ts';
import {
  EVERY,
  IS_COPY,
  IS_DEAD,
  IS_REPLACED,
  partitionAt,
  passedAt,
  RECORD_HEAD_BYTES,
  recordBytesAt,
} from './lane-record.ts';
import type { WaitingSequences } from './waiting-sequences.ts';

/** Dead bytes below this are not worth a compaction. */
const DEAD_BYTES_MIN = 65_536;

/** What the lanes of a queue have in all. */
export interface QueueTotals {
  /** Events that are not acknowledged: several records of one event count as one. */
  events: number;
  /** Bytes of their records. */
  bytes: number;
}

/** What a batch may take. */
export interface BatchRoom {
  events: number;
  bytes: number;
}

/** Decides which events may leave. */
interface LeaveRule {
  /** The data set that the batch is for. */
  readonly target: Uint8Array;
  /** Whether the answer to the change may not leave yet; EVERY_PARTITION: in any partition. */
  readonly gate: { delays(partition: number, sequence: number): boolean };
}

export class Lane {
  readonly number: number;
  readonly #totals: QueueTotals;
  readonly #pool: ChunkPool;
  readonly #sequences: WaitingSequences | undefined;
  /** The lane's part of the events of all lanes. */
  #eventCount = 0;
  /** Records that are live, and their bytes. */
  count = 0;
  bytes = 0;
  /** Number of the first live record, where it has one; else the next number. */
  firstNumber = 1;
  /** Live records that have numbers. */
  numberedCount = 0;
  /** Whether a batch with events of the lane is under way; and whether it does not wait for others. */
  isUnderWay = false;
  isUrgent = false;
  /** Rises when what a batch under way has taken is dropped. */
  generation = 0;
  /** Position behind the last numbered record. */
  waitingFrom = 0;
  #chunks: LaneChunk[] = [];
  #head = 0;
  #tail = 0;

  /** `sequences` is told what the head passes. */
  constructor(number: number, totals: QueueTotals, pool: ChunkPool, sequences?: WaitingSequences) {
    this.number = number;
    this.#totals = totals;
    this.#pool = pool;
    this.#sequences = sequences;
  }

  /** When the first live record was recorded; Infinity where there is none. */
  get oldestMs(): number {
    if (this.count === 0) return Number.POSITIVE_INFINITY;
    const [first] = this.#chunks;
    return first!.view.getFloat64(this.#head - first!.start + 16, true);
  }

  /** Bytes of the change's record. */
  static recordBytes(change: Mutation): number {
    return (RECORD_HEAD_BYTES + eventBytes(change) + 7) & ~7;
  }

  /** Appends a record. Returns its position. */
  append(change: Mutation, policy: number, nowMs: number, isCopy: boolean): number {
    const length = eventBytes(change);
    const recordBytes = (RECORD_HEAD_BYTES + length + 7) & ~7;
    const chunk = this.#room(recordBytes);
    const at = chunk.used;
    const { view } = chunk;
    const partition = change.partition === EVERY_PARTITION ? EVERY : change.partition;
    view.setUint32(at, length, true);
    view.setUint32(at + 4, isCopy ? partition + IS_COPY : partition, true);
    view.setFloat64(at + 8, change.sequence, true);
    view.setFloat64(at + 16, nowMs, true);
    writeEvent(chunk, at + RECORD_HEAD_BYTES, change, policy);
    chunk.used += recordBytes;
    const position = this.#tail;
    this.#tail += recordBytes;
    this.count++;
    this.bytes += recordBytes;
    this.#totals.bytes += recordBytes;
    if (!isCopy) {
      this.#eventCount++;
      this.#totals.events++;
    }
    return position;
  }

  /**
   * Chooses the live records from the head on that may leave and have room, which it lowers; the first one
   * has room always where `isFirst`. Those whose path names the target die. Returns their number, and adds
   * the bytes of their events to `chosen`.
   */
  choose(room: BatchRoom, isFirst: boolean, rule: LeaveRule, chosen: { bytes: number }): number {
    let count = 0;
    walk(this.#chunks, this.#head, (chunk, at) => {
      const { view, bytes } = chunk;
      const mark = view.getUint32(at + 4, true);
      if (mark >= IS_DEAD) return true;
      if (isOnPath(bytes, at + RECORD_HEAD_BYTES, rule.target)) {
        this.#kill(chunk, at);
        return true;
      }
      const length = view.getUint32(at, true);
      const hasRoom = room.events > 0 && room.bytes >= length;
      if (!(hasRoom || (isFirst && count === 0))) return false;
      const partition = mark & EVERY;
      const sequence = view.getFloat64(at + 8, true);
      if (rule.gate.delays(partition === EVERY ? EVERY_PARTITION : partition, sequence))
        return false;
      room.events--;
      room.bytes -= length;
      chosen.bytes += length;
      count++;
      return true;
    });
    this.#trim();
    return count;
  }

  /** Copies the events of the first `count` live records, which get numbers. Returns the offset behind. */
  copyTo(to: Buffer, at: number, count: number): number {
    let next = at;
    let left = count;
    walk(this.#chunks, this.#head, ({ view, bytes, start }, offset) => {
      const length = view.getUint32(offset, true);
      if (view.getUint32(offset + 4, true) < IS_DEAD) {
        const from = offset + RECORD_HEAD_BYTES;
        bytes.copy(to, next, from, from + length);
        next += length;
        left--;
      }
      const behind = start + offset + ((RECORD_HEAD_BYTES + length + 7) & ~7);
      if (left === 0) this.waitingFrom = Math.max(this.waitingFrom, behind);
      return left > 0;
    });
    this.numberedCount = Math.max(this.numberedCount, count);
    return next;
  }

  /** The first `count` live records need not be sent (again). Returns how many events they were. */
  remove(count: number): number {
    const before = this.#eventCount;
    let left = count;
    if (left > 0) {
      walk(this.#chunks, this.#head, (chunk, at) => {
        if (chunk.view.getUint32(at + 4, true) >= IS_DEAD) return true;
        this.#kill(chunk, at);
        left--;
        return left > 0;
      });
    }
    this.firstNumber += count;
    this.numberedCount = Math.max(0, this.numberedCount - count);
    this.#trim();
    return before - this.#eventCount;
  }

  /** The positions of the live records from a position on, until `visit` returns false. */
  eachFrom(position: number, visit: (position: number) => boolean): void {
    walk(this.#chunks, Math.max(position, this.#head), ({ view, start }, at) => {
      return view.getUint32(at + 4, true) >= IS_DEAD || visit(start + at);
    });
  }

  /** Drops the records that have no numbers. */
  dropWaiting(): void {
    walk(this.#chunks, this.waitingFrom, (chunk, at) => {
      if (chunk.view.getUint32(at + 4, true) < IS_DEAD) this.#kill(chunk, at);
      return true;
    });
    this.#trim();
  }

  /** Drops every record. Numbers that were used are not used again. */
  clear(): void {
    this.renumber();
    this.isUrgent = false;
    this.#dropChunks(this.#chunks.length);
    this.#head = this.#tail;
    this.waitingFrom = this.#tail;
    this.#totals.events -= this.#eventCount;
    this.#totals.bytes -= this.bytes;
    this.count = 0;
    this.bytes = 0;
    this.#eventCount = 0;
    this.#sequences?.passAll(this.number);
    this.#sequences?.onProgress();
  }

  /** Position of the first record that is left. */
  get head(): number {
    return this.#head;
  }

  /** Position behind the last record. */
  get tail(): number {
    return this.#tail;
  }

  /** What waits now, of these partitions, to be copied later on. */
  cut(partitions: readonly number[]): LaneContent {
    for (const chunk of this.#chunks) chunk.isShared = true;
    return new LaneContent(partitions, this.#chunks, this.#head, this.#tail);
  }

  /**
   * Records get new numbers when they are next sent: another target may know the old ones, and some records
   * may die as it has them. The answer to a batch under way says nothing of them any more.
   */
  renumber(): void {
    this.generation++;
    this.firstNumber += this.numberedCount;
    this.numberedCount = 0;
    this.waitingFrom = this.#head;
  }

  /** The live record at this position dies, as a later one replaces it. */
  replaceAt(position: number): void {
    const chunk = this.#chunkAt(position);
    this.#kill(chunk, position - chunk.start, IS_DEAD + IS_REPLACED);
    this.#trim();
  }

  /** The live record at this position dies, as the target has what is later. */
  skipAt(position: number): void {
    const chunk = this.#chunkAt(position);
    this.#kill(chunk, position - chunk.start);
    this.#trim();
  }

  /** Whether the record at this position is live and waits, so that it may be replaced. */
  isWaiting(position: number): boolean {
    if (position < this.waitingFrom || position < this.#head) return false;
    const chunk = this.#chunkAt(position);
    return chunk.view.getUint32(position - chunk.start + 4, true) < IS_DEAD;
  }

  /** Bytes of the record at this position, from the head on. */
  recordBytesAt(position: number): number {
    const chunk = this.#chunkAt(position);
    return (RECORD_HEAD_BYTES + chunk.view.getUint32(position - chunk.start, true) + 7) & ~7;
  }

  /** The event of the record at this position, from the head on: the bytes and its offset there. */
  eventAt(position: number): { readonly chunk: Viewed; readonly at: number } {
    const chunk = this.#chunkAt(position);
    return { chunk, at: position - chunk.start + RECORD_HEAD_BYTES };
  }

  /** Whether more of the lane is dead than live, so that it is worth a compaction. */
  get isSparse(): boolean {
    const dead = this.#tail - this.#head - this.bytes;
    return dead > DEAD_BYTES_MIN && dead > this.bytes;
  }

  /** Moves the live records together. Positions change; `onMoved` gets those of records that wait. */
  compact(onMoved: (position: number) => void): void {
    const old = this.#chunks;
    const from = this.#head;
    this.#chunks = [];
    let left = this.numberedCount;
    const firstWaiting = this.#tail;
    this.#head = this.#tail;
    this.waitingFrom = this.#tail;
    walk(old, from, ({ view, bytes }, at) => {
      if (view.getUint32(at + 4, true) >= IS_DEAD) return true;
      const recordBytes = recordBytesAt(view, at);
      const chunk = this.#room(recordBytes);
      bytes.copy(chunk.bytes, chunk.used, at, at + recordBytes);
      chunk.used += recordBytes;
      const position = this.#tail;
      this.#tail += recordBytes;
      if (left > 0) this.waitingFrom = this.#tail;
      else onMoved(position);
      left--;
      return true;
    });
    assert(this.#tail - firstWaiting === this.bytes, 'live bytes');
    for (const chunk of old) this.#pool.give(chunk);
  }

  /** The chunk that takes the record. */
  #room(recordBytes: number): LaneChunk {
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.bytes.length - last.used >= recordBytes) return last;
    // Each chunk is twice as long as the one before, up to the longest.
    const doubled = last === undefined ? 0 : Math.min(CHUNK_BYTES_MAX, last.bytes.length * 2);
    const chunk = this.#pool.take(Math.max(recordBytes, doubled), this.#tail);
    this.#chunks.push(chunk);
    return chunk;
  }

  #kill({ view }: LaneChunk, at: number, flags = IS_DEAD): void {
    const mark = view.getUint32(at + 4, true);
    view.setUint32(at + 4, mark + flags, true);
    const recordBytes = recordBytesAt(view, at);
    this.count--;
    this.bytes -= recordBytes;
    this.#totals.bytes -= recordBytes;
    if ((mark & IS_COPY) !== 0) return;
    this.#eventCount--;
    this.#totals.events--;
  }

  /** Moves the head to the first live record, and drops the chunks before it. */
  #trim(): void {
    const before = this.#head;
    let dropped = 0;
    for (const { view, start, used } of this.#chunks) {
      let at = this.#head - start;
      while (at < used && view.getUint32(at + 4, true) >= IS_DEAD) {
        this.#sequences?.pass(this.number, partitionAt(view, at), passedAt(view, at));
        at += recordBytesAt(view, at);
      }
      this.#head = start + at;
      if (at < used) break;
      dropped++;
    }
    this.#dropChunks(dropped);
    this.waitingFrom = Math.max(this.waitingFrom, this.#head);
    if (this.#head === before) return;
    if (this.#head === this.#tail) this.#sequences?.passAll(this.number);
    this.#sequences?.onProgress();
  }

  /** Drops the first chunks, of whose records none is left. */
  #dropChunks(count: number): void {
    if (count === 0) return;
    for (const chunk of this.#chunks.splice(0, count)) this.#pool.give(chunk);
  }

  #chunkAt(position: number): LaneChunk {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#chunks[middle]!.start <= position) low = middle;
      else high = middle - 1;
    }
    return this.#chunks[low]!;
  }
}

/** Visits the records from a position on, until `visit` returns false. */
function walk(
  chunks: readonly LaneChunk[],
  from: number,
  visit: (chunk: LaneChunk, at: number) => boolean,
): void {
  for (const chunk of chunks) {
    let at = Math.max(0, from - chunk.start);
    while (at < chunk.used) {
      const length = chunk.view.getUint32(at, true);
      if (!visit(chunk, at)) return;
      at += (RECORD_HEAD_BYTES + length + 7) & ~7;
    }
  }
}
