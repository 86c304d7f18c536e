/**
 * The queue of a publisher. It stores events until they are acknowledged: at most `capacity` events
 * and `bytesMax` bytes, but always one event of any length. The partitions are spread over lanes
 * (lane.ts). A lane sends its events in the order of their recording, so each partition's order is
 * preserved.
 *
 * A clear is one event with a record in every lane, after the sets before it and before those after
 * it. At the first of these records the target removes everything that is not later than the clear.
 * The others find nothing more, or only changes that arrived late through another lane.
 * Tested by publisher.spec.ts.
 */
import { getOrCreate } from '../base/get-or-create.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { CLEAR, Mutation, SET } from '../engine/mutation.ts';
import { ChunkPool } from './chunk-pool.ts';
import { readEvent } from './event-codec.ts';
import { Lane, type QueueTotals } from './lane.ts';
import type { LaneContent } from './lane-content.ts';
import { LANES_MAX } from './message-format.ts';
import { WaitingKeys } from './waiting-keys.ts';
import { WaitingSequences } from './waiting-sequences.ts';

/**
 * Minimum number of lanes. Lanes write to separate memory, so more lanes miss the caches more
 * often.
 */
const LANES_MIN = 8;

interface QueueLimits {
  readonly capacity: number;
  readonly bytesMax: number;
  /** Maximum number of batches in flight; a lane has one. */
  readonly batchesMax: number;
}

export class PublisherQueue {
  readonly lanes: readonly Lane[];
  /** Whether only the latest event of a key is queued. */
  readonly isLatestOnly: boolean;
  /** The sequences of the waiting changes. */
  readonly sequences: WaitingSequences;
  /** Chunks for the records of this publisher and for its batches. */
  readonly pool = new ChunkPool();
  readonly #limits: QueueLimits;
  /**
   * Maximum size of the waiting events, in bytes: the publisher's limit, or its share of the limit
   * for all publishers.
   */
  bytesMax: number;
  readonly #totals: QueueTotals = { events: 0, bytes: 0 };
  /** Key index by lane, if only the latest event of a key is queued; in a recovery only of sets. */
  #keys: readonly WaitingKeys[] | undefined;
  /** Indexes of keys by lane that `skip` needs, if every event is queued. */
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
   * Empties the queue for a recovery. Until `endRestore` only the latest set of a key is queued,
   * because the target may already have received all of them: under PASS_THROUGH an earlier set
   * would win again, and count as a change that is later than the clear that follows.
   */
  beginRestore(): void {
    this.clear();
    this.sequences.reset();
    this.#keys = this.lanes.map((lane) => new WaitingKeys(lane));
  }

  endRestore(): void {
    if (!this.isLatestOnly) this.#keys = undefined;
  }

  /** Number of unacknowledged events. */
  get size(): number {
    return this.#totals.events;
  }

  /** Bytes of their records. */
  get bytes(): number {
    return this.#totals.bytes;
  }

  /** Time at which the oldest event was recorded; Infinity if there is none. */
  get oldestMs(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const lane of this.lanes) oldest = Math.min(oldest, lane.oldestMs);
    return oldest;
  }

  /** Returns whether the event fits. */
  hasRoom(change: Mutation): boolean {
    const { capacity } = this.#limits;
    const size = this.size;
    if (size === 0) return true;
    const added = this.#addedBytes(change);
    if (size < capacity && this.bytes + added <= this.bytesMax) return true;
    return this.#isReplacing(change, size, added);
  }

  /** Returns whether a recovered event fits; `recoveryExtraBytes` raises the limit in bytes. */
  hasRoomForRecovered(change: Mutation, recoveryExtraBytes: number): boolean {
    return (
      this.size === 0 || this.bytes + this.#addedBytes(change) <= this.bytesMax + recoveryExtraBytes
    );
  }

  /** Queues the event, which must fit. */
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
    // A recovered change may be older than the one that is queued.
    if (replaced >= 0 && keys?.version.isAfter(change.version)) return;
    this.sequences.add(change.partition, change.sequence);
    const position = lane.append(change, policy, nowMs, false);
    if (keys === undefined) return;
    keys.add(change.name, change.key, position);
    if (replaced < 0) return;
    lane.replaceAt(replaced);
    compact(lane, keys);
  }

  /** Drops the lane's unsent events of the change's key that are not later than the change. */
  skip(lane: Lane, { name, key, version }: Mutation): void {
    if (lane.count === lane.numberedCount) return;
    const keys = this.#keys?.[lane.number] ?? this.#keysToSkip(lane);
    for (;;) {
      const position = keys.find(name, key, version);
      if (position < 0) return;
      lane.skipAt(position);
      compact(lane, keys);
    }
  }

  /** Drops the indexes that were built for `skip`. */
  endSkips(): void {
    this.#skippedKeys.clear();
  }

  /** Queues one record of a recovered clear in its lane. */
  addClear(clear: Mutation, policy: number, nowMs: number, lane: number, isCopy: boolean): void {
    for (const partition of this.sequences.partitionsOf(lane)) {
      this.sequences.add(partition, clear.sequence);
    }
    this.lanes[lane]!.append(clear, policy, nowMs, isCopy);
  }

  /** Returns a snapshot of the events waiting in the lane. */
  cut(lane: number): LaneContent {
    return this.lanes[lane]!.cut(this.sequences.partitionsOf(lane));
  }

  /**
   * Called when the target may have received the sent events without recording their numbers. Only
   * the latest event of each key is sent again: under PASS_THROUGH an earlier one would win again,
   * and count as a change that is later than a clear after it.
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

  /**
   * Sets this publisher's share of the limit for all publishers, in bytes. The publisher's limit
   * applies if it is lower.
   */
  share(bytes: number): void {
    this.bytesMax = Math.min(this.#limits.bytesMax, bytes);
  }

  /** Drops every event. */
  clear(): void {
    for (const lane of this.lanes) lane.clear();
  }

  /** Returns a function that drops the events waiting now, which have at most these sequences. */
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
    const keys = getOrCreate(this.#skippedKeys, lane.number, () => new WaitingKeys(lane));
    keys.catchUp();
    return keys;
  }

  /** Returns the bytes that the event's records add. */
  #addedBytes(change: Mutation): number {
    return Lane.recordBytes(change) * (change.operation === CLEAR ? this.lanes.length : 1);
  }

  /** Returns whether the event fits into a full queue because it replaces another one. */
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

/** Kills all but the latest record of each key at these waiting positions. Clears remain. */
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
