/**
 * The record of an event in a lane, a multiple of 8 bytes. All numbers are little-endian.
 *
 *     0  length of the event in bytes; at 4 the partition (EVERY for all), with the flags above it
 *     8  sequence of the change in its partition, a double; at 16 the time of its recording, a double
 *    24  the event (event-codec.ts)
 */
import type { Viewed } from '../base/short-copies.ts';
import { EVERY_PARTITION } from '../engine/engine.ts';
import type { Mutation } from '../engine/mutation.ts';
import { readEvent } from './event-codec.ts';

/** Bytes of a record before its event. */
export const RECORD_HEAD_BYTES = 24;
export const EVERY = 0xff_ffff;
/** From here on the number at 4 is that of a dead record. */
export const IS_DEAD = 2 ** 31;
/** One of several records of one event that counts as none. */
export const IS_COPY = 2 ** 30;
/** Of a dead record: it died as a later one took its place. */
export const IS_REPLACED = 2 ** 29;

/** Bytes of the record at `at`. */
export function recordBytesAt(view: DataView, at: number): number {
  return (RECORD_HEAD_BYTES + view.getUint32(at, true) + 7) & ~7;
}

/** The partition of the record at `at`, or EVERY_PARTITION. */
export function partitionAt(view: DataView, at: number): number {
  const partition = view.getUint32(at + 4, true) & EVERY;
  return partition === EVERY ? EVERY_PARTITION : partition;
}

/**
 * Up to which sequence its partition has passed with the dead record at `at`. One that was replaced does not
 * count itself: what came in its place may have the same sequence.
 */
export function passedAt(view: DataView, at: number): number {
  const sequence = view.getFloat64(at + 8, true);
  return (view.getUint32(at + 4, true) & IS_REPLACED) === 0 ? sequence : sequence - 1;
}

export function isCopyAt(view: DataView, at: number): boolean {
  return (view.getUint32(at + 4, true) & IS_COPY) !== 0;
}

/**
 * Reads the live record at `at` into the change, whose spans point into the bytes. Returns the offset behind
 * it, or -1 for bytes that are no such record, or do not end by `end`.
 */
export function readRecord(from: Viewed, at: number, end: number, change: Mutation): number {
  const { view } = from;
  if (end - at < RECORD_HEAD_BYTES || view.getUint32(at + 4, true) >= IS_DEAD) return -1;
  const event = at + RECORD_HEAD_BYTES;
  const eventEnd = event + view.getUint32(at, true);
  const behind = (eventEnd + 7) & ~7;
  if (behind > end || readEvent(from, event, eventEnd, change) !== eventEnd) return -1;
  change.partition = partitionAt(view, at);
  change.sequence = view.getFloat64(at + 8, true);
  return Number.isSafeInteger(change.sequence) && change.sequence >= 0 ? behind : -1;
}
