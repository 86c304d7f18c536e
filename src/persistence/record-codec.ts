/**
 * The records of log segments and snapshots. A record starts at a multiple of 8 bytes and is padded
 * to the next one with zeros. All numbers are little-endian.
 *
 *     0  CRC-32 of all that follows, including the padding, seeded by the segment (segment.ts)
 *     4  change (../engine/change-codec.ts), with its place
 *
 * Three records are no mutations. They have an operation of their own, and of a change only length,
 * operation, version and place:
 *
 * MARK: everything before the position in the version (low: offset, high: segment) had been synced
 * when the record was written. SEAL: the last record of a segment; the sequence is the number of the
 * next segment; the low word is 1 if that segment was already durable, 2 if, in addition, a start of a
 * member named it (seals.ts). A SEAL with the sequence 0 is the end of a log: to continue
 * the log, a SEAL with a number is written directly after it. PARTITION, in snapshots: the sequence of
 * that partition when its visit started.
 *
 * A DELETE or CLEAR with the sequence 0, in snapshots, is a tombstone, which removes nothing: the
 * key is the 16-byte hash by which it is found, and the version contains its time. Without a key it
 * records that changes of other data sets were merged into the map, or into every map if the name
 * is empty.
 *
 * Unknown types from 128 up are optional: the data is complete without them. Readers skip them, and
 * a rewritten segment omits them, as it omits each MARK. Unknown types below 128 and mutations with
 * unknown fields are refused, because without them the data would be wrong.
 *
 * Records of the log contain the paths of their changes, and compaction, backup, restore and repair
 * preserve them. Records of snapshots have no path, as entries in memory have none. When such an
 * entry is sent to another data set, its version prevents an endless cycle: the data set it came
 * from already has that version.
 */
import assert from 'node:assert';
import { checksum } from '../base/checksum.ts';
import type { Viewed } from '../base/copy-bytes.ts';
import {
  CHANGE_BYTES_MIN,
  changeBytes,
  fieldsOf,
  HAS_PLACE,
  PLACE_BYTES,
  partitionIn,
  readChange,
  STORED_FIELDS,
  sequenceIn,
  writeChange,
  writePlace,
} from '../engine/change-codec.ts';
import { type Mutation, RETURN, SET } from '../engine/mutation.ts';
import type { Version } from '../engine/version.ts';

export const MARK = 16;
export const SEAL = 17;
export const PARTITION = 18;
/** Lowest type of the records that are skipped if they are unknown. */
export const SKIPPED_TYPE_MIN = 128;

/** Offset of the change. */
const CHANGE_AT = 4;
/** Length of MARK, SEAL and PARTITION, in bytes, which is that of the shortest record. */
export const CONTROL_RECORD_BYTES = CHANGE_AT + CHANGE_BYTES_MIN + PLACE_BYTES;
/** Maximum length of a record, in bytes. The length of a value has at most 30 bits. */
const RECORD_BYTES_MAX = 2 ** 31 - 8;

/** Returns the length of the mutation's record, including padding, in bytes. */
export function recordBytes(mutation: Mutation): number {
  return padded(CHANGE_AT + changeBytes(mutation, fieldsOf(mutation, STORED_FIELDS)));
}

/**
 * Writes the mutation at `at`, where there must be room for recordBytes. Returns the offset after
 * it.
 */
export function writeMutation(to: Viewed, at: number, mutation: Mutation, seed: number): number {
  const fields = fieldsOf(mutation, STORED_FIELDS);
  return finish(to, at, writeChange(to, at + CHANGE_AT, mutation, fields), seed);
}

/** Writes a MARK, SEAL or PARTITION. Returns the offset after it. */
export function writeControlRecord(
  to: Viewed,
  at: number,
  type: typeof MARK | typeof SEAL | typeof PARTITION,
  partition: number,
  sequence: number,
  version: Pick<Version, 'low' | 'high'>,
  seed: number,
): number {
  const { bytes, view } = to;
  const end = at + CONTROL_RECORD_BYTES;
  bytes.fill(0, at, end);
  view.setInt32(at + 4, CONTROL_RECORD_BYTES - CHANGE_AT, true);
  bytes[at + 8] = type;
  bytes[at + 9] = HAS_PLACE;
  view.setInt32(at + 12, version.low, true);
  view.setInt32(at + 16, version.high, true);
  writePlace(view, at + CHANGE_AT + CHANGE_BYTES_MIN, partition, sequence);
  return finish(to, at, end, seed);
}

/**
 * Returns the length of the record at `at`, including padding, in bytes; 0 unless there is a record
 * with a correct checksum that ends by `end`.
 */
export function checkRecord(from: Viewed, at: number, end: number, seed: number): number {
  if (at + CONTROL_RECORD_BYTES > end) return 0;
  const bytes = recordBytesAt(from, at);
  if (bytes < CONTROL_RECORD_BYTES || bytes > end - at) return 0;
  return checksum(from, at + 4, at + bytes, seed) === from.view.getInt32(at, true) ? bytes : 0;
}

/** Returns the length of the record at `at`, including padding. It is not verified. */
export function recordBytesAt({ view }: Viewed, at: number): number {
  const length = view.getUint32(at + CHANGE_AT, true);
  return length > RECORD_BYTES_MAX ? 0 : padded(CHANGE_AT + length);
}

export function typeAt({ bytes }: Viewed, at: number): number {
  return bytes[at + 8]!;
}

export function partitionAt({ view }: Viewed, at: number): number {
  return partitionIn(view, at + CHANGE_AT + CHANGE_BYTES_MIN);
}

export function sequenceAt({ view }: Viewed, at: number): number {
  return sequenceIn(view, at + CHANGE_AT + CHANGE_BYTES_MIN);
}

/** Returns the low word of the version, which is the offset in a MARK. */
export function lowAt({ view }: Viewed, at: number): number {
  return view.getInt32(at + 12, true);
}

/** Returns the high word of the version, which is the segment in a MARK. */
export function highAt({ view }: Viewed, at: number): number {
  return view.getInt32(at + 16, true);
}

/** Returns whether this version knows the type. */
export function isKnownType(type: number): boolean {
  return (type >= SET && type <= RETURN) || (type >= MARK && type <= PARTITION);
}

/**
 * Describes the unknown type or fields of the record, for a message; undefined if there are none.
 */
export function unknownIn({ bytes }: Viewed, at: number): string | undefined {
  const type = bytes[at + 8]!;
  if (!isKnownType(type)) return `type ${type}`;
  const fields = bytes[at + 9]! & ~STORED_FIELDS;
  return type > RETURN || fields === 0 ? undefined : `fields ${fields}`;
}

/**
 * Sets the mutation to the content of the record, whose checksum is not verified. Its spans point into
 * the bytes. Returns whether the record is a mutation with valid fields.
 */
export function readMutation(from: Viewed, at: number, mutation: Mutation): boolean {
  const start = at + CHANGE_AT;
  const end = start + from.view.getUint32(start, true);
  if (end > from.bytes.length || readChange(from, start, end, mutation) < 0) return false;
  return (from.bytes[at + 9]! & HAS_PLACE) !== 0;
}

/** Sets the checksum of the record at `at` to that with another seed. Returns the offset after it. */
export function reseal(to: Viewed, at: number, seed: number): number {
  return sealed(to, at, at + recordBytesAt(to, at), seed);
}

/** Pads the record, which ends at `end`, and sets its checksum. Returns the offset after it. */
function finish(to: Viewed, at: number, end: number, seed: number): number {
  const next = at + padded(end - at);
  if ((at & 7) !== 0 || next > to.bytes.length) assert.fail('a record fits into its page');
  for (let from = end; from < next; from++) to.bytes[from] = 0;
  return sealed(to, at, next, seed);
}

/** Sets the checksum of the record, which ends at `end` with its padding. Returns `end`. */
function sealed(to: Viewed, at: number, end: number, seed: number): number {
  to.view.setInt32(at, checksum(to, at + CHANGE_AT, end, seed), true);
  return end;
}

function padded(length: number): number {
  return (length + 7) & ~7;
}
