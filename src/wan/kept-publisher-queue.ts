/**
 * A publisher's queue as one that outlives the process (../engine/durable-queues.ts). A recovery
 * queues what was kept with the snapshot, then what the log has behind the marks, each as the
 * publisher would queue it now. Of sets of one key the latest alone is queued.
 *
 * What was acknowledged after the marks were written comes again, and so does what was dropped
 * while other changes waited. So the queue may have more events than its capacity afterwards, up to
 * its bytes and some more: what waited in the earlier process is the last to come, and may not be
 * dropped for the others.
 */

import type { Clock } from '../base/clock.ts';
import { viewed } from '../base/short-copies.ts';
import { EVERY_PARTITION } from '../engine/engine.ts';
import { Mutation } from '../engine/mutation.ts';
import { msOf } from './clock-distance.ts';
import { policyAt } from './event-codec.ts';
import type { LaneContent } from './lane-content.ts';
import { FILE_HEAD_BYTES, isCopyAt, readRecord } from './lane-record.ts';
import type { WanMapRef } from './publisher-options.ts';
import type { PublisherQueue } from './publisher-queue.ts';

interface KeptPublisherQueueParts {
  readonly name: string;
  readonly queue: PublisherQueue;
  readonly clock: Clock;
  /** The reference of the change's map, where the change is published. */
  readonly published: (change: Mutation) => WanMapRef | undefined;
  /** A change that comes again has no room. */
  readonly onDropped: () => void;
  /** The queue was cleared. */
  readonly onCleared: () => void;
}

export class KeptPublisherQueue {
  readonly name: string;
  /** Bytes by which a recovery may exceed the limit of the queue. */
  bytesFurther = 0;
  readonly #parts: KeptPublisherQueueParts;
  readonly #queue: PublisherQueue;
  readonly #change = new Mutation();
  /**
   * Up to which sequence of each partition nothing of the log is queued; undefined to queue
   * nothing.
   */
  #floor: Float64Array | undefined;

  constructor(parts: KeptPublisherQueueParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.#queue = parts.queue;
  }

  get bytes(): number {
    return this.#queue.bytes;
  }

  get hasExactMarks(): boolean {
    return this.#queue.bytes === 0 || !this.#queue.isLatestOnly;
  }

  get laneCount(): number {
    return this.#queue.lanes.length;
  }

  marks(sequences: Float64Array): Float64Array {
    return this.#queue.sequences.marks(sequences);
  }

  clearing(sequences: Float64Array): () => void {
    const clear = this.#queue.clearing(sequences);
    return () => {
      clear();
      this.#parts.onCleared();
    };
  }

  mayWait(partition: number, sequence: number): boolean {
    return this.#queue.sequences.mayHave(partition, sequence);
  }

  cut(lane: number): LaneContent {
    return this.#queue.cut(lane);
  }

  beginRestore(marks: Float64Array | undefined): void {
    this.#queue.beginRestore();
    this.#floor = marks?.slice();
  }

  restore(lane: number, bytes: Buffer, start: number, end: number): boolean {
    const floor = this.#floor;
    if (floor === undefined) return true;
    const from = viewed(bytes);
    const change = this.#change;
    for (let at = start; at < end; ) {
      const behind = readRecord(from, at, end, change);
      if (behind < 0 || change.partition >= floor.length) return false;
      this.#restore(lane, policyAt(bytes, at + FILE_HEAD_BYTES), isCopyAt(from.view, at), floor);
      at = behind;
    }
    return true;
  }

  isRestored(queuedUpTo: Float64Array): void {
    const floor = this.#floor;
    if (floor === undefined) return;
    for (const [partition, sequence] of queuedUpTo.entries()) {
      floor[partition] = Math.max(floor[partition]!, sequence);
    }
  }

  replay(change: Mutation): void {
    const floor = this.#floor;
    if (floor === undefined || !isBehind(floor, change)) return;
    const ref = this.#parts.published(change);
    if (ref === undefined) return;
    if (this.#hasRoom(change)) this.#queue.add(change, ref.policy, this.#recordedMs(change));
  }

  /** Queues the change that was read, where its mark is lower. */
  #restore(lane: number, policy: number, isCopy: boolean, floor: Float64Array): void {
    const change = this.#change;
    const { partition, sequence } = change;
    const queue = this.#queue;
    const recordedMs = this.#recordedMs(change);
    if (partition !== EVERY_PARTITION) {
      if (sequence > floor[partition]! && this.#hasRoom(change)) {
        queue.add(change, policy, recordedMs);
      }
      return;
    }
    const own = lane % queue.lanes.length;
    const isBehindAny = queue.sequences.partitionsOf(own).some((each) => sequence > floor[each]!);
    if (isBehindAny) queue.addClear(change, policy, recordedMs, own, isCopy);
  }

  #hasRoom(change: Mutation): boolean {
    if (this.#queue.hasRoomAgain(change, this.bytesFurther)) return true;
    this.#parts.onDropped();
    return false;
  }

  /**
   * When the change was recorded, by its version: in an earlier process, maybe on another member.
   */
  #recordedMs({ version }: Mutation): number {
    const { clock } = this.#parts;
    return clock.now() - Math.max(0, clock.wall() - msOf(version));
  }
}

/** Whether the change is behind the floor of its partition; EVERY_PARTITION: of any. */
function isBehind(floor: Float64Array, { partition, sequence }: Mutation): boolean {
  if (partition !== EVERY_PARTITION) return sequence > floor[partition]!;
  return floor.some((each) => sequence > each);
}
