/**
 * A change as bytes: in records of the log and of snapshots (persistence/record-codec.ts), in batches of
 * WAN replication (wan/event-codec.ts) and in the files of waiting events. Nothing is padded. All
 * numbers are little-endian.
 *
 *     0  length in bytes, 28 or more
 *     4  operation, one byte: an Operation (mutation.ts)
 *     5  fields that follow, one byte: 1 place, 2 life or item, 4 expiry, 8 max idle, 16 two words,
 *        32 maker
 *     6  merge policy that the target of a batch applies, one byte (merge-policy.ts); otherwise zero
 *     7  number of data sets in the path, one byte: 0 to 16
 *     8  version: low word, at 12 high word
 *    16  length of the name in bytes, at 20 of the key, at 24 of the content type
 *    28  with a place: the sequence of the change in its partition, six bytes, enough for 89 years of
 *        100,000 changes a second; then the partition, two bytes; 65535 stands for every partition
 *        with a life or item: of OFFER, REMOVE and RETURN the item, a double; of others the life of the
 *        map, low and high word
 *        with an expiry: its time in ms since 1970, a double, more than 0
 *        with a max idle: its seconds, four bytes, 1 to 2^31-1
 *        with two words: of a SET the number of reads of the entry and the time of the last one in s
 *        since 1970; of a DELETE, EXPIRE or CLEAR the version of its tombstone, low and high word
 *        with a maker: the first four bytes of the id of the data set that assigned the version
 *        then the path: 16 bytes for each data set, first the one in which the change was made, then
 *        those that forwarded it
 *        then name, key, content type; then the value, to the end
 *
 * Tested by persistence/record-codec.spec.ts.
 */
import assert from 'node:assert';
import { copySpan, type Viewed } from '../base/copy-bytes.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import type { Span } from '../base/span.ts';
import {
  DATA_SET_ID_BYTES,
  type Mutation,
  OFFER,
  type Operation,
  PATH_LENGTH_MAX,
  RETURN,
  SET,
} from './mutation.ts';

/** Minimum length of a change, which is the offset of its first field, in bytes. */
export const CHANGE_BYTES_MIN = 28;
export const PLACE_BYTES = 8;

export const HAS_PLACE = 1;
const HAS_LIFE = 2;
const HAS_EXPIRY = 4;
const HAS_MAX_IDLE = 8;
const HAS_WORDS = 16;
export const HAS_MAKER = 32;
/** The fields of a change in a data directory, and those of one that is sent. */
export const STORED_FIELDS =
  HAS_PLACE | HAS_LIFE | HAS_EXPIRY | HAS_MAX_IDLE | HAS_WORDS | HAS_MAKER;
export const SENT_FIELDS = HAS_EXPIRY | HAS_MAX_IDLE | HAS_WORDS | HAS_MAKER;

/** Lengths of the fields, in bytes, from the lowest bit on; and of all fields of each combination. */
const BYTES_OF_FIELD = [PLACE_BYTES, 8, 8, 4, 8, 4];
const FIELD_BYTES = Uint8Array.from({ length: 64 }, (_, fields) =>
  BYTES_OF_FIELD.reduce((sum, bytes, bit) => sum + ((fields >> bit) & 1) * bytes, 0),
);

const EVERY = 0xffff;
const PATH_BYTES_MAX = PATH_LENGTH_MAX * DATA_SET_ID_BYTES;
/** Limits of an engine. */
const KEY_BYTES_MAX = 2 ** 24 - 1;
const VALUE_BYTES_MAX = 2 ** 30;
const MAX_IDLE_SECONDS_MAX = 2 ** 31 - 1;
const WORD_MAX = 2 ** 32 - 1;

/** Returns those of the fields that the change has. */
export function fieldsOf(change: Mutation, among: number): number {
  const { operation } = change;
  let fields = change.maker === 0 ? HAS_PLACE : HAS_PLACE | HAS_MAKER;
  if (operation >= OFFER || !change.life.isNone) fields |= HAS_LIFE;
  if (operation === SET) {
    if (change.expiryMs !== 0) fields |= HAS_EXPIRY;
    if (change.maxIdleSeconds !== 0) fields |= HAS_MAX_IDLE;
    if (change.hits !== 0 || change.lastAccessSeconds !== 0) fields |= HAS_WORDS;
  } else if (operation < OFFER && !change.tombstone.isNone) fields |= HAS_WORDS;
  return fields & among;
}

/** Returns the length of a change with these fields, in bytes. */
export function changeBytes(change: Mutation, fields: number): number {
  const { name, key, contentType, value, path } = change;
  const named = path.length + name.length + key.length;
  return (
    CHANGE_BYTES_MIN +
    FIELD_BYTES[fields & STORED_FIELDS]! +
    named +
    contentType.length +
    value.length
  );
}

/** Writes the change at `at`, where `changeBytes` bytes are free. Returns the offset after it. */
export function writeChange(
  to: Viewed,
  at: number,
  change: Mutation,
  fields: number,
  policy = 0,
): number {
  const { view } = to;
  const { name, key, contentType, value, path, version } = change;
  const pathCount = path.length / DATA_SET_ID_BYTES;
  view.setInt32(
    at + 4,
    change.operation | (fields << 8) | (policy << 16) | (pathCount << 24),
    true,
  );
  view.setInt32(at + 8, version.low, true);
  view.setInt32(at + 12, version.high, true);
  view.setInt32(at + 16, name.length, true);
  view.setInt32(at + 20, key.length, true);
  view.setInt32(at + 24, contentType.length, true);
  let next = at + CHANGE_BYTES_MIN;
  if (fields !== 0) next = writeFields(view, next, fields, change);
  if (path.length > 0) next = writePath(to, next, path);
  next = copy(to, next, name);
  next = copy(to, next, key);
  next = copy(to, next, contentType);
  next = copy(to, next, value);
  view.setInt32(at, next - at, true);
  return next;
}

/**
 * Reads the change at `at`, whose spans point into the bytes. Returns the offset after it, or -1 if it
 * is invalid or does not end by `end`; then the change is undefined.
 */
export function readChange(from: Viewed, at: number, end: number, change: Mutation): number {
  if (end - at < CHANGE_BYTES_MIN) return -1;
  const { bytes, view } = from;
  const length = view.getUint32(at, true);
  const operation = bytes[at + 4]!;
  const fields = bytes[at + 5]!;
  const path = bytes[at + 7]! * DATA_SET_ID_BYTES;
  const name = view.getUint32(at + 16, true);
  const key = view.getUint32(at + 20, true);
  const type = view.getUint32(at + 24, true);
  const fieldsEnd = at + CHANGE_BYTES_MIN + FIELD_BYTES[fields & STORED_FIELDS]!;
  const changeEnd = at + length;
  const valueStart = fieldsEnd + path + name + key + type;
  if (changeEnd > end || valueStart > changeEnd) return -1;
  if (operation < SET || operation > RETURN || fields > STORED_FIELDS) return -1;
  if (path > PATH_BYTES_MAX || changeEnd - valueStart > VALUE_BYTES_MAX) return -1;
  if (name > KEY_BYTES_MAX || key > KEY_BYTES_MAX || type > KEY_BYTES_MAX) return -1;
  change.operation = operation as Operation;
  change.version.set(view.getInt32(at + 8, true), view.getInt32(at + 12, true));
  if (!readFields(view, at + CHANGE_BYTES_MIN, fields, change)) return -1;
  let next = fieldsEnd + path;
  change.path.set(bytes, fieldsEnd, next);
  change.name.setViewed(bytes, view, next, next + name);
  next += name;
  change.key.setViewed(bytes, view, next, next + key);
  change.contentType.setViewed(bytes, view, next + key, valueStart);
  change.value.setViewed(bytes, view, valueStart, changeEnd);
  return changeEnd;
}

/** Returns the length of the change at `at`, in bytes. */
export function changeBytesAt(view: DataView, at: number): number {
  return view.getUint32(at, true);
}

/** Returns the merge policy of the change at `at`. */
export function policyAt(bytes: Buffer, at: number): number {
  return bytes[at + 6]!;
}

/** Returns whether the path of the change at `at` contains the data set. */
export function isOnPath(bytes: Buffer, at: number, dataSet: Uint8Array): boolean {
  const count = bytes[at + 7]!;
  if (count === 0) return false;
  const start = at + CHANGE_BYTES_MIN + FIELD_BYTES[bytes[at + 5]! & STORED_FIELDS]!;
  return names(bytes, start, start + count * DATA_SET_ID_BYTES, dataSet);
}

/** Returns whether the path contains the data set. */
export function hasDataSet(path: Span, dataSet: Uint8Array): boolean {
  return path.length > 0 && names(path.bytes, path.start, path.end, dataSet);
}

function names(bytes: Buffer, start: number, end: number, dataSet: Uint8Array): boolean {
  for (let at = start; at < end; at += DATA_SET_ID_BYTES) {
    // Few other data sets begin with the same byte.
    if (bytes[at] !== dataSet[0]) continue;
    if (bytes.compare(dataSet, 0, DATA_SET_ID_BYTES, at, at + DATA_SET_ID_BYTES) === 0) return true;
  }
  return false;
}

/** Writes the field of a place. Returns the offset after it. */
export function writePlace(
  view: DataView,
  at: number,
  partition: number,
  sequence: number,
): number {
  view.setInt32(at, sequence | 0, true);
  view.setUint16(at + 4, Math.floor(sequence / 2 ** 32), true);
  view.setUint16(at + 6, partition === EVERY_PARTITION ? EVERY : partition, true);
  return at + PLACE_BYTES;
}

/** Returns the partition of the place at `at`, or EVERY_PARTITION. */
export function partitionIn(view: DataView, at: number): number {
  const partition = view.getUint16(at + 6, true);
  return partition === EVERY ? EVERY_PARTITION : partition;
}

/** Returns the sequence of the place at `at`. */
export function sequenceIn(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint16(at + 4, true) * 2 ** 32;
}

/** Writes the fields. Returns the offset after them. */
function writeFields(view: DataView, at: number, fields: number, change: Mutation): number {
  let next = at;
  if ((fields & HAS_PLACE) !== 0) {
    next = writePlace(view, next, change.partition, change.sequence);
  }
  if ((fields & HAS_LIFE) !== 0) {
    if (change.operation >= OFFER) view.setFloat64(next, change.item, true);
    else writeWords(view, next, change.life.low, change.life.high);
    next += 8;
  }
  if ((fields & HAS_EXPIRY) !== 0) {
    view.setFloat64(next, change.expiryMs, true);
    next += 8;
  }
  if ((fields & HAS_MAX_IDLE) !== 0) {
    view.setInt32(next, change.maxIdleSeconds, true);
    next += 4;
  }
  if ((fields & HAS_WORDS) !== 0) {
    const { hits, lastAccessSeconds, tombstone } = change;
    next =
      change.operation === SET
        ? writeWords(view, next, Math.min(hits, WORD_MAX), Math.min(lastAccessSeconds, WORD_MAX))
        : writeWords(view, next, tombstone.low, tombstone.high);
  }
  if ((fields & HAS_MAKER) !== 0) {
    view.setInt32(next, change.maker, true);
    next += 4;
  }
  return next;
}

function writeWords(view: DataView, at: number, low: number, high: number): number {
  view.setUint32(at, low, true);
  view.setUint32(at + 4, high, true);
  return at + 8;
}

/** Reads the fields; those that are missing get their default. Returns whether they are valid. */
function readFields(view: DataView, at: number, fields: number, change: Mutation): boolean {
  const isOfItem = change.operation >= OFFER;
  let next = at;
  change.partition = EVERY_PARTITION;
  change.sequence = 0;
  change.item = 0;
  change.life.clear();
  change.expiryMs = 0;
  change.maxIdleSeconds = 0;
  change.hits = 0;
  change.lastAccessSeconds = 0;
  change.tombstone.clear();
  change.maker = 0;
  if ((fields & HAS_PLACE) !== 0) {
    change.partition = partitionIn(view, next);
    change.sequence = sequenceIn(view, next);
    next += PLACE_BYTES;
  }
  if ((fields & HAS_LIFE) !== 0) {
    if (isOfItem) change.item = view.getFloat64(next, true);
    else change.life.set(view.getInt32(next, true), view.getInt32(next + 4, true));
    next += 8;
  }
  if ((fields & HAS_EXPIRY) !== 0) {
    change.expiryMs = view.getFloat64(next, true);
    if (!(change.expiryMs > 0 && change.expiryMs <= Number.MAX_SAFE_INTEGER)) return false;
    next += 8;
  }
  if ((fields & HAS_MAX_IDLE) !== 0) {
    change.maxIdleSeconds = view.getUint32(next, true);
    if (change.maxIdleSeconds === 0 || change.maxIdleSeconds > MAX_IDLE_SECONDS_MAX) return false;
    next += 4;
  }
  if ((fields & HAS_WORDS) !== 0) {
    if (change.operation === SET) {
      change.hits = view.getUint32(next, true);
      change.lastAccessSeconds = view.getUint32(next + 4, true);
    } else change.tombstone.set(view.getInt32(next, true), view.getInt32(next + 4, true));
    next += 8;
  }
  if ((fields & HAS_MAKER) !== 0) change.maker = view.getInt32(next, true);
  return Number.isSafeInteger(change.item);
}

function writePath(to: Viewed, at: number, path: Span): number {
  const count = path.length / DATA_SET_ID_BYTES;
  assert(Number.isInteger(count) && count <= PATH_LENGTH_MAX, 'a path of 16 data sets at most');
  return copy(to, at, path);
}

/** Copies the span. Returns the offset after it. */
function copy(to: Viewed, at: number, span: Span): number {
  copySpan(to, at, span);
  return at + span.end - span.start;
}
