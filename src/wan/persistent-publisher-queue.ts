/**
 * Persists a publisher's queue across restarts (../engine/durable-queues.ts). A recovery queues the
 * events stored with the snapshot, then the changes of the log after the marks, each as the
 * publisher would queue it now. For several sets of one key only the latest is queued.
 *
 * Events acknowledged after the marks were written are queued again, and so are changes that were
 * dropped because the queue was full. After a recovery the queue may therefore exceed its capacity,
 * up to its limit in bytes plus `recoveryExtraBytes`: the events that waited before the restart are
 * recovered last and must not be dropped. Tested by persistent-queues.spec.ts.
 */

import type { Clock } from '../base/clock.ts';
import { viewed } from '../base/copy-bytes.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { policyAt } from '../engine/change-codec.ts';
import { Mutation } from '../engine/mutation.ts';
import { msOf } from '../engine/version.ts';
import { readPlacedEvent } from './event-codec.ts';
import type { LaneContent } from './lane-content.ts';
import type { PublisherQueue } from './publisher-queue.ts';
import type { WanMapRef } from './wan-maps.ts';

interface PersistentPublisherQueueParts {
  readonly name: string;
  readonly queue: PublisherQueue;
  readonly clock: Clock;
  /** Returns the WAN reference of the change's map if the change is published. */
  readonly published: (change: Mutation) => WanMapRef | undefined;
  /** Called when a recovered change is dropped because the queue is full. */
  readonly onDropped: () => void;
  /** Called after the queue was cleared. */
  readonly onCleared: () => void;
}

export class PersistentPublisherQueue {
  readonly name: string;
  /** Number of bytes by which a recovery may exceed the queue's limit. */
  recoveryExtraBytes = 0;
  readonly #parts: PersistentPublisherQueueParts;
  readonly #queue: PublisherQueue;
  readonly #change = new Mutation();
  /**
   * By partition, the sequence up to which the log's changes are skipped; undefined to skip all.
   */
  #floor: Float64Array | undefined;

  constructor(parts: PersistentPublisherQueueParts) {
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
      const next = readPlacedEvent(from, at, end, change);
      if (next < 0 || change.partition >= floor.length) return false;
      this.#restore(lane, policyAt(bytes, at), floor);
      at = next;
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

  /** Queues the change that was read if its sequence is above the floor. */
  #restore(lane: number, policy: number, floor: Float64Array): void {
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
    if (isBehindAny) queue.addClear(change, policy, recordedMs, own, lane > 0);
  }

  #hasRoom(change: Mutation): boolean {
    if (this.#queue.hasRoomForRecovered(change, this.recoveryExtraBytes)) return true;
    this.#parts.onDropped();
    return false;
  }

  /**
   * Returns the recording time from the change's version: in an earlier process or another member.
   */
  #recordedMs({ version }: Mutation): number {
    const { clock } = this.#parts;
    return clock.now() - Math.max(0, clock.wall() - msOf(version.low, version.high));
  }
}

/** Returns whether the change is after its partition's floor; EVERY_PARTITION: after any floor. */
function isBehind(floor: Float64Array, { partition, sequence }: Mutation): boolean {
  if (partition !== EVERY_PARTITION) return sequence > floor[partition]!;
  return floor.some((each) => sequence > each);
}
