/**
 * The head of a record in a lane. In memory the events of a chunk are contiguous, so that those of a
 * batch are copied in one call, and the heads are stored apart from them (lane-chunk.ts). All numbers
 * of a head are little-endian:
 *
 *     0  offset of the event in its chunk; at 4 the partition (EVERY for all) and the flags above it
 *     8  sequence of the change in its partition, a double; at 16 its recording time, a double
 *
 * Tested by persistent-queues.spec.ts.
 */
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { changeBytesAt } from '../engine/change-codec.ts';

/** Length of a head, in bytes. */
export const RECORD_HEAD_BYTES = 24;
export const EVERY = 0xff_ffff;
/** Flag of a dead record. It is the highest, so a number at 4 of IS_DEAD or more means dead. */
export const IS_DEAD = 2 ** 31;
/** Flag of a duplicate: several lanes have a record of the event, and this one is not counted. */
export const IS_COPY = 2 ** 30;
/** Flag of a dead record that a later one replaced. */
export const IS_REPLACED = 2 ** 29;
/** Flag of an event whose path has data sets. */
export const HAS_PATH = 2 ** 28;

/** Returns the bytes in memory of a record whose event has that length. */
export function recordBytes(eventBytes: number): number {
  return RECORD_HEAD_BYTES + eventBytes;
}

/** Returns the partition of the head at `at`, or EVERY_PARTITION. */
export function partitionAt(view: DataView, at: number): number {
  const partition = view.getUint32(at + 4, true) & EVERY;
  return partition === EVERY ? EVERY_PARTITION : partition;
}

/**
 * Returns the sequence up to which its partition has passed with the dead record whose head is at
 * `at`. A replaced record itself does not count: the record that replaced it may have the same
 * sequence.
 */
export function passedAt(view: DataView, at: number): number {
  const sequence = view.getFloat64(at + 8, true);
  return (view.getUint32(at + 4, true) & IS_REPLACED) === 0 ? sequence : sequence - 1;
}

/** Returns the offset of the event of the record whose head is at `at` in memory. */
export function offsetAt(view: DataView, at: number): number {
  return view.getUint32(at, true);
}

/** Returns the length of that event in bytes. */
export function eventBytesAt(view: DataView, at: number): number {
  return changeBytesAt(view, offsetAt(view, at));
}

export function isDeadAt(view: DataView, at: number): boolean {
  return view.getUint32(at + 4, true) >= IS_DEAD;
}
