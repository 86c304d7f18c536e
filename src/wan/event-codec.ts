/**
 * The format of events in a batch. An event is one change of a map. All numbers are little-endian.
 *
 *     0  operation, one byte: SET, DELETE or CLEAR (../engine/mutation.ts)
 *     1  merge policy that the target applies, one byte: 0 to 5 (../engine/merge-policy.ts)
 *     2  flags of the optional fields, one byte: 1 expiry, 2 max idle, 4 statistics (only in a SET);
 *        8 maker (in a SET or DELETE)
 *     3  number of data sets in the path, one byte: 0 to 15
 *     4  length of the map's name in bytes, 1 or more, at 8 of the key, at 12 of the content type,
 *        at 16 of the value; a DELETE has no content type and no value, a CLEAR also has no key
 *    20  version: low word, at 24 high word; not none
 *    28  with an expiry: its time in ms since 1970, a double, more than 0
 *        with a max idle: its seconds, four bytes, 1 to 2^31-1
 *        with statistics: reads of the entry, four bytes, and the last one, in s since 1970, four
 *        bytes
 *        with a maker: the first four bytes of the id of the data set that assigned the version;
 *        without one, the sender assigned it
 *        then the path: 16 bytes for each data set, first the one in which the change was made, then
 *        those that forwarded it, without the sender
 *        then name, key, content type, value
 *
 * Tested by message-format.spec.ts.
 */
import { copySpan, type Viewed } from '../base/copy-bytes.ts';
import type { Span } from '../base/span.ts';
import {
  CLEAR,
  DATA_SET_ID_BYTES,
  DELETE,
  type Mutation,
  PATH_LENGTH_MAX,
  SET,
} from '../engine/mutation.ts';

const FIXED_BYTES = 28;
const HAS_EXPIRY = 1;
const HAS_MAX_IDLE = 2;
const HAS_STATISTICS = 4;
const HAS_MAKER = 8;
const KNOWN_FIELDS = HAS_EXPIRY | HAS_MAX_IDLE | HAS_STATISTICS | HAS_MAKER;
const POLICY_MAX = 5;
/** Data sets in the path of an event: the sender is not in it. */
const SENT_PATH_LENGTH_MAX = PATH_LENGTH_MAX - 1;
/** Limits of an engine. */
const KEY_BYTES_MAX = 2 ** 24 - 1;
const VALUE_BYTES_MAX = 2 ** 30;
const MAX_IDLE_SECONDS_MAX = 2 ** 31 - 1;
const COUNT_MAX = 2 ** 32 - 1;

/** Returns the length of the change's event in bytes. */
export function eventBytes(change: Mutation): number {
  const { name, key, contentType, value, path } = change;
  const named = name.length + key.length + path.length;
  let fixed = change.maker === 0 ? FIXED_BYTES : FIXED_BYTES + 4;
  if (change.operation !== SET) return fixed + named;
  if (change.expiryMs !== 0) fixed += 8;
  if (change.maxIdleSeconds !== 0) fixed += 4;
  if (hasStatistics(change)) fixed += 8;
  return fixed + named + contentType.length + value.length;
}

/** Writes the event at `at`, where eventBytes(change) bytes are free. */
export function writeEvent(to: Viewed, at: number, change: Mutation, policy: number): void {
  const { bytes, view } = to;
  const { operation, name, key, contentType, value, path, version } = change;
  const isSet = operation === SET;
  const fields = fieldsOf(change);
  // V8 does not inline a view's `set` call that has a condition among its arguments.
  const typeLength = isSet ? contentType.length : 0;
  const valueLength = isSet ? value.length : 0;
  bytes[at] = operation;
  bytes[at + 1] = policy;
  bytes[at + 2] = fields;
  bytes[at + 3] = path.length / DATA_SET_ID_BYTES;
  view.setUint32(at + 4, name.length, true);
  view.setUint32(at + 8, key.length, true);
  view.setUint32(at + 12, typeLength, true);
  view.setUint32(at + 16, valueLength, true);
  view.setInt32(at + 20, version.low, true);
  view.setInt32(at + 24, version.high, true);
  let next = fields === 0 ? at + FIXED_BYTES : writeFields(view, at + FIXED_BYTES, fields, change);
  if (path.length > 0) next = copy(path, to, next);
  next = copy(name, to, next);
  next = copy(key, to, next);
  if (!isSet) return;
  next = copy(contentType, to, next);
  copy(value, to, next);
}

/**
 * Reads the event at `at` into the change, whose spans point into the bytes. The path does not
 * include the sender, and `maker` is 0 if that is the sender. Returns the offset after the event,
 * or -1 if the event is invalid or does not end by `end`.
 */
export function readEvent(
  { bytes, view }: Viewed,
  at: number,
  end: number,
  change: Mutation,
): number {
  if (end - at < FIXED_BYTES) return -1;
  const operation = bytes[at]!;
  const fields = bytes[at + 2]!;
  const pathLength = bytes[at + 3]!;
  const name = view.getUint32(at + 4, true);
  const key = view.getUint32(at + 8, true);
  const type = view.getUint32(at + 12, true);
  const value = view.getUint32(at + 16, true);
  if (bytes[at + 1]! > POLICY_MAX || pathLength > SENT_PATH_LENGTH_MAX) return -1;
  if (operation !== SET && (operation !== DELETE || type + value + (fields & ~HAS_MAKER) !== 0)) {
    if (operation !== CLEAR || key + type + value + fields !== 0) return -1;
  }
  if ((fields & ~KNOWN_FIELDS) !== 0) return -1;
  if (name === 0 || name > KEY_BYTES_MAX || key > KEY_BYTES_MAX || type > KEY_BYTES_MAX) return -1;
  if (value > VALUE_BYTES_MAX) return -1;
  const path = pathLength * DATA_SET_ID_BYTES;
  const fieldsEnd = at + FIXED_BYTES + fieldBytes(fields);
  const eventEnd = fieldsEnd + path + name + key + type + value;
  if (eventEnd > end) return -1;
  change.operation = operation;
  change.version.set(view.getInt32(at + 20, true), view.getInt32(at + 24, true));
  if (change.version.isNone || !readFields(view, at + FIXED_BYTES, fields, change)) return -1;
  let next = fieldsEnd;
  change.path.set(bytes, next, next + path);
  next += path;
  change.name.setViewed(bytes, view, next, next + name);
  next += name;
  change.key.setViewed(bytes, view, next, next + key);
  next += key;
  change.contentType.set(bytes, next, next + type);
  change.value.setViewed(bytes, view, next + type, eventEnd);
  return eventEnd;
}

/** Returns the merge policy of the event at `at`. */
export function policyAt(bytes: Buffer, at: number): number {
  return bytes[at + 1]!;
}

/** Returns whether the path of the event at `at` contains the data set. */
export function isOnPath(bytes: Buffer, at: number, dataSet: Uint8Array): boolean {
  const count = bytes[at + 3]!;
  if (count === 0) return false;
  const start = at + FIXED_BYTES + fieldBytes(bytes[at + 2]!);
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

function hasStatistics(change: Mutation): boolean {
  return change.hits !== 0 || change.lastAccessSeconds !== 0;
}

function fieldsOf(change: Mutation): number {
  const maker = change.maker === 0 ? 0 : HAS_MAKER;
  if (change.operation !== SET) return maker;
  const expiry = change.expiryMs === 0 ? 0 : HAS_EXPIRY;
  const maxIdle = change.maxIdleSeconds === 0 ? 0 : HAS_MAX_IDLE;
  return expiry | maxIdle | maker | (hasStatistics(change) ? HAS_STATISTICS : 0);
}

function fieldBytes(fields: number): number {
  const expiry = (fields & HAS_EXPIRY) === 0 ? 0 : 8;
  const maxIdle = (fields & HAS_MAX_IDLE) === 0 ? 0 : 4;
  const statistics = (fields & HAS_STATISTICS) === 0 ? 0 : 8;
  return expiry + maxIdle + statistics + ((fields & HAS_MAKER) === 0 ? 0 : 4);
}

/** Writes the optional fields. Returns the offset after them. */
function writeFields(view: DataView, at: number, fields: number, change: Mutation): number {
  let next = at;
  if ((fields & HAS_EXPIRY) !== 0) {
    view.setFloat64(next, change.expiryMs, true);
    next += 8;
  }
  if ((fields & HAS_MAX_IDLE) !== 0) {
    view.setUint32(next, change.maxIdleSeconds, true);
    next += 4;
  }
  if ((fields & HAS_STATISTICS) !== 0) {
    view.setUint32(next, Math.min(change.hits, COUNT_MAX), true);
    view.setUint32(next + 4, Math.min(change.lastAccessSeconds, COUNT_MAX), true);
    next += 8;
  }
  if ((fields & HAS_MAKER) !== 0) {
    view.setInt32(next, change.maker, true);
    next += 4;
  }
  return next;
}

/** Reads the optional fields. Returns whether their values are valid. */
function readFields(view: DataView, at: number, fields: number, change: Mutation): boolean {
  let next = at;
  change.expiryMs = 0;
  change.maxIdleSeconds = 0;
  change.hits = 0;
  change.lastAccessSeconds = 0;
  change.maker = 0;
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
  if ((fields & HAS_STATISTICS) !== 0) {
    change.hits = view.getUint32(next, true);
    change.lastAccessSeconds = view.getUint32(next + 4, true);
    next += 8;
  }
  if ((fields & HAS_MAKER) !== 0) change.maker = view.getInt32(next, true);
  return true;
}

/** Copies the span. Returns the offset after it. */
function copy(span: Span, to: Viewed, at: number): number {
  copySpan(to, at, span);
  return at + span.length;
}
