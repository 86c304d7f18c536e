/**
 * The record of an event in a lane. In the memory of a lane the events of a chunk lie one behind the other,
 * so that those of a batch are copied at once, and their heads apart from them (lane-chunk.ts). In a file of
 * what waits a record is its head, its event and zero bytes up to a multiple of 8. All numbers of a head are
 * little-endian:
 *
 *     0  length of the event in bytes; at 4 the partition (EVERY for all), with the flags above it
 *     8  sequence of the change in its partition, a double; at 16 the time of its recording, a double
 *    24  in memory alone: offset of the event in its chunk; at 28 nothing
 */
import type { Viewed } from '../base/short-copies.ts';
import { EVERY_PARTITION } from '../engine/engine.ts';
import type { Mutation } from '../engine/mutation.ts';
import { readEvent } from './event-codec.ts';

/** Bytes of the head in a file, and in memory. */
export const FILE_HEAD_BYTES = 24;
export const RECORD_HEAD_BYTES = 32;
export const EVERY = 0xff_ffff;
/** From here on the number at 4 is that of a dead record. */
export const IS_DEAD = 2 ** 31;
/** One of several records of one event that counts as none. */
export const IS_COPY = 2 ** 30;
/** Of a dead record: it died as a later one took its place. */
export const IS_REPLACED = 2 ** 29;
/** The event names data sets that it came by. */
export const HAS_PATH = 2 ** 28;

/** Bytes of a record in memory, whose event has that length. */
export function recordBytes(eventBytes: number): number {
  return RECORD_HEAD_BYTES + eventBytes;
}

/** Bytes of a record in a file, whose event has that length. */
export function fileRecordBytes(eventBytes: number): number {
  return (FILE_HEAD_BYTES + eventBytes + 7) & ~7;
}

/** The partition in the head at `at`, or EVERY_PARTITION. */
export function partitionAt(view: DataView, at: number): number {
  const partition = view.getUint32(at + 4, true) & EVERY;
  return partition === EVERY ? EVERY_PARTITION : partition;
}

/**
 * Up to which sequence its partition has passed with the dead record whose head is at `at`. One that was
 * replaced does not count itself: what came in its place may have the same sequence.
 */
export function passedAt(view: DataView, at: number): number {
  const sequence = view.getFloat64(at + 8, true);
  return (view.getUint32(at + 4, true) & IS_REPLACED) === 0 ? sequence : sequence - 1;
}

/** Offset of the event of the record whose head is at `at` in memory. */
export function offsetAt(view: DataView, at: number): number {
  return view.getUint32(at + 24, true);
}

export function isDeadAt(view: DataView, at: number): boolean {
  return view.getUint32(at + 4, true) >= IS_DEAD;
}

export function isCopyAt(view: DataView, at: number): boolean {
  return (view.getUint32(at + 4, true) & IS_COPY) !== 0;
}

/**
 * Reads the live record at `at` of a file into the change, whose spans point into the bytes. Returns the
 * offset behind it, or -1 for bytes that are no such record, or do not end by `end`.
 */
export function readRecord(from: Viewed, at: number, end: number, change: Mutation): number {
  const { view } = from;
  if (end - at < FILE_HEAD_BYTES || isDeadAt(view, at)) return -1;
  const event = at + FILE_HEAD_BYTES;
  const eventEnd = event + view.getUint32(at, true);
  const behind = (eventEnd + 7) & ~7;
  if (behind > end || readEvent(from, event, eventEnd, change) !== eventEnd) return -1;
  change.partition = partitionAt(view, at);
  change.sequence = view.getFloat64(at + 8, true);
  return Number.isSafeInteger(change.sequence) && change.sequence >= 0 ? behind : -1;
}
