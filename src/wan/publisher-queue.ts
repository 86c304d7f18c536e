/**
 * The queue of a publisher: events until they are acknowledged, at most `capacity` of them and `bytesMax`
 * bytes, but one at least whatever its length. The partitions are spread over lanes (lane.ts), and in a lane
 * events leave in the order of their recording, so per partition they do.
 *
 * A clear is one event with a record in every lane: behind the sets before it, and before those after it. The
 * target clears what is not later than it at the first of them; the others find nothing more, or what came
 * late by another lane.
 */
import { EVERY_PARTITION } from '../engine/engine.ts';
import { CLEAR, Mutation, SET } from '../engine/mutation.ts';
import { ChunkPool } from './chunk-pool.ts';
import { readEvent } from './event-codec.ts';
import { Lane, type QueueTotals } from './lane.ts';
import type { LaneContent } from './lane-content.ts';
import { LANES_MAX } from './message-format.ts';
import { WaitingKeys } from './waiting-keys.ts';
import { WaitingSequences } from './waiting-sequences.ts';

/** What a record is written to lies apart for each lane: more lanes find less of it in the caches. */
const LANES_MIN = 8;

interface QueueLimits {
  readonly capacity: number;
  readonly bytesMax: number;
  /** Batches that may be under way at a time; a lane has one. */
  readonly batchesMax: number;
}

export class PublisherQueue {
  readonly lanes: readonly Lane[];
  /** Whether only the latest event of a key waits. */
  readonly isLatestOnly: boolean;
  /** Which changes wait. */
  readonly sequences: WaitingSequences;
  /** Chunks for the records of this publisher, and for its batches. */
  readonly pool = new ChunkPool();
  readonly #limits: QueueLimits;
  /** Bytes that may wait: the publisher's own limit, or its share of that of all publishers. */
  bytesMax: number;
  readonly #totals: QueueTotals = { events: 0, bytes: 0 };
  /** By lane, where only the latest event of a key waits; in a recovery the latest set. */
  #keys: readonly WaitingKeys[] | undefined;
  /** The same, made for `skip`, where every event waits. */
  readonly #skippedKeys = new Map<number, WaitingKeys>();

  constructor(partitionCount: number, limits: QueueLimits, isLatestOnly: boolean) {
    const wanted = Math.max(LANES_MIN, limits.batchesMax);
    const count = Math.min(partitionCount, LANES_MAX, wanted);
    const sequences = new WaitingSequences(partitionCount, count);
    this.sequences = sequences;
    this.lanes = Array.from(
      { length: count },
      (_, number) => new Lane(number, this.#totals, this.pool, sequences),
    );
    this.#limits = limits;
    this.bytesMax = limits.bytesMax;
    this.isLatestOnly = isLatestOnly;
    this.#keys = isLatestOnly ? this.lanes.map((lane) => new WaitingKeys(lane)) : undefined;
  }

  /**
   * Empties the queue for a recovery. Until `endRestore`, only the latest set of a key waits: the target may
   * have all of them already. Under PassThrough an earlier one would win there once more, as a change that is
   * later than the clear that follows.
   */
  beginRestore(): void {
    this.clear();
    this.sequences.reset();
    this.#keys = this.lanes.map((lane) => new WaitingKeys(lane));
  }

  endRestore(): void {
    if (!this.isLatestOnly) this.#keys = undefined;
  }

  /** Events that are not acknowledged. */
  get size(): number {
    return this.#totals.events;
  }

  /** Bytes of their records. */
  get bytes(): number {
    return this.#totals.bytes;
  }

  /** When the oldest event was recorded; Infinity where there is none. */
  get oldestMs(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const lane of this.lanes) oldest = Math.min(oldest, lane.oldestMs);
    return oldest;
  }

  /** Whether there is room for the event. */
  hasRoom(change: Mutation): boolean {
    const { capacity } = this.#limits;
    const size = this.size;
    if (size === 0) return true;
    const added = this.#addedBytes(change);
    if (size < capacity && this.bytes + added <= this.bytesMax) return true;
    return this.#isReplacing(change, size, added);
  }

  /** Whether there is room for an event that comes again, beyond the limits by so many bytes. */
  hasRoomAgain(change: Mutation, bytesFurther: number): boolean {
    return this.size === 0 || this.bytes + this.#addedBytes(change) <= this.bytesMax + bytesFurther;
  }

  /** Queues the event, for which there is room. */
  add(change: Mutation, policy: number, nowMs: number): void {
    if (change.partition === EVERY_PARTITION) {
      this.sequences.add(EVERY_PARTITION, change.sequence);
      for (const lane of this.lanes) lane.append(change, policy, nowMs, lane.number > 0);
      return;
    }
    const number = change.partition % this.lanes.length;
    const lane = this.lanes[number]!;
    const keys = this.isLatestOnly || change.operation === SET ? this.#keys?.[number] : undefined;
    const replaced = keys === undefined ? -1 : keys.find(change.name, change.key);
    // What is known comes again, and may be older than what waits.
    if (replaced >= 0 && keys?.version.isAfter(change.version)) return;
    this.sequences.add(change.partition, change.sequence);
    const position = lane.append(change, policy, nowMs, false);
    if (keys === undefined) return;
    keys.add(change.name, change.key, position);
    if (replaced < 0) return;
    lane.replaceAt(replaced);
    compact(lane, keys);
  }

  /** Drops the events of the change's key that wait in the lane and are not later than the change. */
  skip(lane: Lane, { name, key, version }: Mutation): void {
    if (lane.count === lane.numberedCount) return;
    const keys = this.#keys?.[lane.number] ?? this.#keysToSkip(lane);
    for (;;) {
      const position = keys.findUpTo(name, key, version);
      if (position < 0) return;
      lane.skipAt(position);
      compact(lane, keys);
    }
  }

  /** Nothing is skipped for now: what was made for it is dropped. */
  endSkips(): void {
    this.#skippedKeys.clear();
  }

  /** Queues one record of a clear again, in its lane. */
  addClear(clear: Mutation, policy: number, nowMs: number, lane: number, isCopy: boolean): void {
    for (const partition of this.sequences.partitionsOf(lane)) {
      this.sequences.add(partition, clear.sequence);
    }
    this.lanes[lane]!.append(clear, policy, nowMs, isCopy);
  }

  /** What waits in the lane now. */
  cut(lane: number): LaneContent {
    return this.lanes[lane]!.cut(this.sequences.partitionsOf(lane));
  }

  /**
   * The target may have what was sent, and does not know it. Of a key the latest event alone is sent again:
   * an earlier one would win under PassThrough once more, as a change that is later than a clear behind it.
   */
  onForgotten(): void {
    for (const lane of this.lanes) {
      const sent: number[] = [];
      const { numberedCount } = lane;
      if (numberedCount > 0) {
        lane.eachFrom(lane.head, (position) => sent.push(position) < numberedCount);
      }
      lane.renumber();
      keepLatest(lane, sent);
    }
  }

  /** Sets the share of the limit of all publishers: bytes that may wait where the own limit is higher. */
  share(bytes: number): void {
    this.bytesMax = Math.min(this.#limits.bytesMax, bytes);
  }

  /** Drops every event. */
  clear(): void {
    for (const lane of this.lanes) lane.clear();
  }

  /** Returns what drops the events that wait now, whose sequences are these at most. */
  clearing(sequences: Float64Array): () => void {
    const tails = this.lanes.map(({ tail }) => tail);
    return () => {
      for (const [number, lane] of this.lanes.entries()) {
        if (lane.tail === tails[number]) lane.clear();
        else lane.clearUpTo(sequences, this.sequences.partitionsOf(number));
      }
    };
  }

  #keysToSkip(lane: Lane): WaitingKeys {
    const known = this.#skippedKeys.get(lane.number);
    const keys = known ?? new WaitingKeys(lane);
    if (known === undefined) this.#skippedKeys.set(lane.number, keys);
    keys.catchUp();
    return keys;
  }

  /** Bytes of the records of the event. */
  #addedBytes(change: Mutation): number {
    return Lane.recordBytes(change) * (change.operation === CLEAR ? this.lanes.length : 1);
  }

  /** Whether the full queue has an event that this one replaces. */
  #isReplacing(change: Mutation, size: number, added: number): boolean {
    if (this.#keys === undefined || change.partition === EVERY_PARTITION) return false;
    const lane = this.lanes[change.partition % this.lanes.length]!;
    const replaced = this.#keys[lane.number]!.find(change.name, change.key);
    if (replaced < 0) return false;
    const bytes = this.bytes - lane.recordBytesAt(replaced) + added;
    return size <= this.#limits.capacity && bytes <= this.bytesMax;
  }
}

function compact(lane: Lane, keys: WaitingKeys): void {
  if (!lane.isSparse) return;
  const moved: number[] = [];
  lane.compact((to) => moved.push(to));
  keys.reset(moved);
}

/** Of the records at these positions, all of which wait, the latest of a key stays; and so do clears. */
function keepLatest(lane: Lane, positions: readonly number[]): void {
  const keys = new WaitingKeys(lane);
  const event = new Mutation();
  for (const position of positions) {
    const { chunk, at } = lane.eventAt(position);
    readEvent(chunk, at, chunk.bytes.length, event);
    if (event.operation === CLEAR) continue;
    const earlier = keys.find(event.name, event.key);
    const isLater = earlier >= 0 && !keys.version.isAfter(event.version);
    keys.add(event.name, event.key, position);
    if (isLater) lane.replaceAt(earlier);
  }
}
