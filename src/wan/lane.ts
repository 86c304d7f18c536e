/**
 * The events of one lane of a publisher, first in, first out, from their recording to their
 * acknowledgement. They are stored as bytes in chunks (lane-chunk.ts), outside the JavaScript heap
 * and in the format of a batch, each with the head of its record (lane-record.ts).
 *
 * A position counts the lane's records since its creation, without gaps from the head to the tail.
 * A record may be dead: its event is not sent. The first live records may be numbered: they were in
 * a batch, so they keep their numbers, and a later batch begins with them. The head is at a live
 * record or at the tail.
 */

import assert from 'node:assert';
import type { Viewed } from '../base/copy-bytes.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { isOnPath } from '../engine/change-codec.ts';
import type { Mutation } from '../engine/mutation.ts';
import { Version } from '../engine/version.ts';
import { ChunkList } from './chunk-list.ts';
import type { ChunkPool } from './chunk-pool.ts';
import { eventBytes, writeEvent } from './event-codec.ts';
import type { LaneChunk } from './lane-chunk.ts';
import { LaneContent } from './lane-content.ts';
import {
  EVERY,
  eventBytesAt,
  HAS_PATH,
  IS_COPY,
  IS_DEAD,
  IS_REPLACED,
  isDeadAt,
  offsetAt,
  partitionAt,
  passedAt,
  recordBytes,
} from './lane-record.ts';
import { NUMBER_BYTES } from './message-format.ts';
import type { WaitingSequences } from './waiting-sequences.ts';

/** Dead bytes below which a compaction does not pay. */
const DEAD_BYTES_MIN = 65_536;

/** Totals over all lanes of a queue. */
export interface QueueTotals {
  /** Number of unacknowledged events: several records of one event count as one. */
  events: number;
  /** Bytes of their records. */
  bytes: number;
}

/** The room left in a batch. */
export interface BatchRoom {
  events: number;
  bytes: number;
}

/** Decides which events may be sent. */
interface SendRule {
  /** The data set that the batch is for. */
  readonly target: Uint8Array;
  /** Whether the change is not durable yet; EVERY_PARTITION: in any partition. */
  readonly gate: { delays(partition: number, sequence: number): boolean };
}

export class Lane {
  readonly number: number;
  readonly #totals: QueueTotals;
  readonly #pool: ChunkPool;
  readonly #sequences: WaitingSequences | undefined;
  /** The lane's share of `events` in the totals. */
  #eventCount = 0;
  /** Number of live records, and their bytes. */
  count = 0;
  bytes = 0;
  /** Number of the first live record if it is numbered; otherwise the next number. */
  firstNumber = 1;
  /** Count of live records that are numbered. */
  numberedCount = 0;
  /** Whether a batch of the lane is in flight, and whether its events are sent without delay. */
  isInFlight = false;
  isUrgent = false;
  /** The version at which the records' synchronisation began; none in a lane of the queue. */
  readonly syncBegan = new Version();
  /** Incremented when records of a batch in flight are dropped. */
  generation = 0;
  /** Position after the last numbered record. */
  waitingFrom = 0;
  #chunks: ChunkList;
  #head = 0;
  #tail = 0;
  /** Bytes of the dead records from the head on. */
  #deadBytes = 0;

  /** `sequences` is notified of the records that the head passes. */
  constructor(number: number, totals: QueueTotals, pool: ChunkPool, sequences?: WaitingSequences) {
    this.number = number;
    this.#totals = totals;
    this.#pool = pool;
    this.#chunks = new ChunkList(pool);
    this.#sequences = sequences;
  }

  /** Time at which the first live record was recorded; Infinity if there is none. */
  get oldestMs(): number {
    if (this.count === 0) return Number.POSITIVE_INFINITY;
    const [first] = this.#chunks.list;
    return first!.view.getFloat64(first!.headAt(this.#head - first!.start) + 16, true);
  }

  /** Returns the bytes of the change's record. */
  static recordBytes(change: Mutation): number {
    return recordBytes(eventBytes(change));
  }

  /** Appends a record. Returns its position. */
  append(change: Mutation, policy: number, nowMs: number, isCopy: boolean): number {
    const length = eventBytes(change);
    const partition = change.partition === EVERY_PARTITION ? EVERY : change.partition;
    const flags = (isCopy ? IS_COPY : 0) + (change.path.length > 0 ? HAS_PATH : 0);
    const chunk = this.#chunks.withRoom(length, this.#tail);
    writeEvent(chunk, chunk.add(length, partition + flags, change.sequence, nowMs), change, policy);
    const bytes = recordBytes(length);
    this.count++;
    this.bytes += bytes;
    this.#totals.bytes += bytes;
    if (!isCopy) {
      this.#eventCount++;
      this.#totals.events++;
    }
    return this.#tail++;
  }

  /**
   * Selects the live records from the head on that may be sent and fit into `room`, which it
   * reduces; if `isFirst`, the first record always fits. Records whose path contains the target
   * die. Returns the number selected, and adds the bytes of their events to `chosen`.
   */
  choose(room: BatchRoom, isFirst: boolean, rule: SendRule, chosen: { bytes: number }): number {
    const count = this.#choose(room, isFirst, rule, chosen);
    this.#pass(0);
    return count;
  }

  /** Returns the number of the live record with that index from the head on. */
  numberOf(index: number): number {
    return this.firstNumber + index;
  }

  /**
   * Copies and numbers the events of the first `count` live records. Returns the offset after them.
   */
  copyTo(to: Buffer, at: number, count: number): number {
    let next = at;
    let left = count;
    for (const chunk of this.#chunks.list) {
      let index = Math.max(0, this.#head - chunk.start);
      while (left > 0 && index < chunk.count) {
        // Consecutive live records: their events are one range of bytes.
        const from = index;
        while (left > 0 && index < chunk.count && !isDeadAt(chunk.view, chunk.headAt(index))) {
          index++;
          left--;
        }
        if (index > from) next += chunk.copyEvents(from, index, to, next);
        else index++;
      }
      if (left > 0) continue;
      this.waitingFrom = Math.max(this.waitingFrom, chunk.start + index);
      break;
    }
    this.numberedCount = Math.max(this.numberedCount, count);
    return next;
  }

  /** Removes the first `count` live records, which are done. Returns the number of their events. */
  remove(count: number): number {
    const before = this.#eventCount;
    this.firstNumber += count;
    this.numberedCount = Math.max(0, this.numberedCount - count);
    this.#pass(count);
    return before - this.#eventCount;
  }

  /** Visits the positions of the live records from `position` on, until `visit` returns false. */
  eachFrom(position: number, visit: (position: number) => boolean): void {
    this.#chunks.walk(Math.max(position, this.#head), ({ view }, at, each) => {
      return isDeadAt(view, at) || visit(each);
    });
  }

  /** Drops the records that are not numbered. */
  dropWaiting(): void {
    this.#chunks.walk(this.waitingFrom, (chunk, at) => {
      if (!isDeadAt(chunk.view, at)) this.#kill(chunk, at);
      return true;
    });
    this.#pass(0);
  }

  /** Drops every record. Used numbers are not used again. */
  clear(): void {
    this.renumber();
    this.isUrgent = false;
    this.#chunks.drop(this.#chunks.list.length);
    this.#head = this.#tail;
    this.waitingFrom = this.#tail;
    this.#deadBytes = 0;
    this.#totals.events -= this.#eventCount;
    this.#totals.bytes -= this.bytes;
    this.count = 0;
    this.bytes = 0;
    this.#eventCount = 0;
    this.#sequences?.passAll(this.number);
    this.#sequences?.onProgress();
  }

  /** Drops the records up to these sequences. `partitions`: the partitions of the lane. */
  clearUpTo(sequences: Float64Array, partitions: readonly number[]): void {
    this.renumber();
    this.isUrgent = false;
    this.#chunks.walk(this.#head, (chunk, at) => {
      if (isDeadAt(chunk.view, at)) return true;
      const sequence = chunk.view.getFloat64(at + 8, true);
      const partition = partitionAt(chunk.view, at);
      const isUpTo =
        partition === EVERY_PARTITION
          ? partitions.every((each) => sequence <= sequences[each]!)
          : sequence <= sequences[partition]!;
      if (isUpTo) this.#kill(chunk, at);
      return true;
    });
    this.#pass(0);
  }

  /** Position of the first remaining record. */
  get head(): number {
    return this.#head;
  }

  /** Position after the last record. */
  get tail(): number {
    return this.#tail;
  }

  /** Returns a snapshot of the waiting records for a later copy. `partitions` are the lane's. */
  cut(partitions: readonly number[]): LaneContent {
    for (const chunk of this.#chunks.list) chunk.isShared = true;
    return new LaneContent(partitions, this.#chunks.list, this.#head, this.#tail);
  }

  /**
   * Lets records get new numbers when they are next sent: another target may have recorded the old
   * ones, and some records may die because it has them. The response to a batch in flight no longer
   * applies to them.
   */
  renumber(): void {
    this.generation++;
    this.firstNumber += this.numberedCount;
    this.numberedCount = 0;
    this.waitingFrom = this.#head;
  }

  /** Kills the live record at this position because a later one replaces it. */
  replaceAt(position: number): void {
    this.#killAt(position, IS_DEAD + IS_REPLACED);
  }

  /** Kills the live record at this position because the target has a later change. */
  skipAt(position: number): void {
    this.#killAt(position, IS_DEAD);
  }

  /** Returns whether the record at this position is live and not numbered: it may be replaced. */
  isWaiting(position: number): boolean {
    if (position < this.waitingFrom || position < this.#head) return false;
    const chunk = this.#chunks.at(position);
    return !isDeadAt(chunk.view, chunk.headAt(position - chunk.start));
  }

  /** Returns the bytes of the record at this position, which is at or after the head. */
  recordBytesAt(position: number): number {
    const chunk = this.#chunks.at(position);
    return recordBytesAt(chunk.view, chunk.headAt(position - chunk.start));
  }

  /** Returns the chunk and offset of the event at this position, which is at or after the head. */
  eventAt(position: number): { readonly chunk: Viewed; readonly at: number } {
    const chunk = this.#chunks.at(position);
    return { chunk, at: offsetAt(chunk.view, chunk.headAt(position - chunk.start)) };
  }

  /** Whether the lane has more dead than live bytes, so that a compaction pays. */
  get isSparse(): boolean {
    return this.#deadBytes > DEAD_BYTES_MIN && this.#deadBytes > this.bytes;
  }

  /** Moves the live records together. `onMoved` gets the new positions of unnumbered records. */
  compact(onMoved: (position: number) => void): void {
    const old = this.#chunks;
    const from = this.#head;
    let left = this.numberedCount;
    this.#chunks = new ChunkList(this.#pool);
    this.#head = this.#tail;
    this.waitingFrom = this.#tail;
    this.#deadBytes = 0;
    old.walk(from, ({ view, bytes }, at) => {
      if (isDeadAt(view, at)) return true;
      const length = eventBytesAt(view, at);
      const event = offsetAt(view, at);
      const chunk = this.#chunks.withRoom(length, this.#tail);
      const mark = view.getUint32(at + 4, true);
      const sequence = view.getFloat64(at + 8, true);
      const recordedMs = view.getFloat64(at + 16, true);
      bytes.copy(chunk.bytes, chunk.add(length, mark, sequence, recordedMs), event, event + length);
      const position = this.#tail++;
      if (left > 0) this.waitingFrom = this.#tail;
      else onMoved(position);
      left--;
      return true;
    });
    assert(this.#tail - this.#head === this.count, 'live records');
    old.drop(old.list.length);
  }

  #choose(room: BatchRoom, isFirst: boolean, rule: SendRule, chosen: { bytes: number }): number {
    let count = 0;
    for (const chunk of this.#chunks.list) {
      const { view, bytes } = chunk;
      for (let index = Math.max(0, this.#head - chunk.start); index < chunk.count; index++) {
        const at = chunk.headAt(index);
        const mark = view.getUint32(at + 4, true);
        if (mark >= IS_DEAD) continue;
        if ((mark & HAS_PATH) !== 0 && isOnPath(bytes, offsetAt(view, at), rule.target)) {
          this.#kill(chunk, at);
          continue;
        }
        const length = eventBytesAt(view, at);
        const hasRoom = room.events > 0 && room.bytes >= length + NUMBER_BYTES;
        if (!(hasRoom || (isFirst && count === 0))) return count;
        if (rule.gate.delays(partitionAt(view, at), view.getFloat64(at + 8, true))) return count;
        room.events--;
        room.bytes -= length + NUMBER_BYTES;
        chosen.bytes += length;
        count++;
      }
    }
    return count;
  }

  #killAt(position: number, flags: number): void {
    const chunk = this.#chunks.at(position);
    this.#kill(chunk, chunk.headAt(position - chunk.start), flags);
    this.#pass(0);
  }

  /** Marks the record whose head is at `at` as dead. */
  #kill({ view }: LaneChunk, at: number, flags = IS_DEAD): void {
    const mark = view.getUint32(at + 4, true);
    view.setUint32(at + 4, mark + flags, true);
    const bytes = recordBytesAt(view, at);
    this.count--;
    this.bytes -= bytes;
    this.#deadBytes += bytes;
    this.#totals.bytes -= bytes;
    if ((mark & IS_COPY) !== 0) return;
    this.#eventCount--;
    this.#totals.events--;
  }

  /**
   * Kills the first `count` live records. Moves the head to the first remaining live one and drops
   * the chunks before it.
   */
  #pass(count: number): void {
    const before = this.#head;
    let left = count;
    let dropped = 0;
    for (const chunk of this.#chunks.list) {
      const { view } = chunk;
      let index = this.#head - chunk.start;
      for (let at = chunk.headAt(index); index < chunk.count; index++, at = chunk.headAt(index)) {
        if (!isDeadAt(view, at)) {
          if (left === 0) break;
          left--;
          this.#kill(chunk, at);
        }
        this.#deadBytes -= recordBytesAt(view, at);
        this.#sequences?.pass(this.number, partitionAt(view, at), passedAt(view, at));
      }
      this.#head = chunk.start + index;
      if (index < chunk.count) break;
      dropped++;
    }
    this.#chunks.drop(dropped);
    this.waitingFrom = Math.max(this.waitingFrom, this.#head);
    if (this.#head === before) return;
    if (this.#head === this.#tail) this.#sequences?.passAll(this.number);
    this.#sequences?.onProgress();
  }
}

function recordBytesAt(view: DataView, at: number): number {
  return recordBytes(eventBytesAt(view, at));
}
