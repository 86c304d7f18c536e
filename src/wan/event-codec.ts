/**
 * An event of a batch: a change of a map (../engine/change-codec.ts), with the merge policy that the
 * target applies. It has no place, no life and no tombstone, which only its own member needs. Its
 * operation is SET, DELETE or CLEAR; its map has a name, its version is not none, and its path does
 * not include the sender. Without a maker the sender assigned the version. A DELETE has no content
 * type, no value and no other field than a maker; a CLEAR also has no key and no maker.
 *
 * In the files of waiting events an event has a place as well. Tested by message-format.spec.ts.
 */
import type { Viewed } from '../base/copy-bytes.ts';
import { isReservedMap } from '../base/reserved-map.ts';
import {
  CHANGE_BYTES_MIN,
  changeBytes,
  fieldsOf,
  HAS_MAKER,
  HAS_PLACE,
  PLACE_BYTES,
  policyAt,
  readChange,
  SENT_FIELDS,
  writeChange,
  writePlace,
} from '../engine/change-codec.ts';
import {
  CLEAR,
  DATA_SET_ID_BYTES,
  DELETE,
  type Mutation,
  PATH_LENGTH_MAX,
  SET,
} from '../engine/mutation.ts';

const POLICY_MAX = 5;
/** Maximum length of the path of an event, in bytes: the sender is not in it. */
const SENT_PATH_BYTES_MAX = (PATH_LENGTH_MAX - 1) * DATA_SET_ID_BYTES;

/** Returns the length of the change's event in bytes. */
export function eventBytes(change: Mutation): number {
  return changeBytes(change, eventFields(change));
}

/** Writes the event at `at`, where eventBytes(change) bytes are free. */
export function writeEvent(to: Viewed, at: number, change: Mutation, policy: number): void {
  writeChange(to, at, change, eventFields(change), policy);
}

/**
 * Reads the event at `at` into the change, whose spans point into the bytes. `maker` is 0 if that is the
 * sender. Returns the offset after the event, or -1 if the event is invalid or does not end by `end`.
 */
export function readEvent(from: Viewed, at: number, end: number, change: Mutation): number {
  const next = readChange(from, at, end, change);
  return next >= 0 && isEvent(from.bytes, at, 0, change) ? next : -1;
}

/** Reads the event with a place at `at`, as readEvent does. */
export function readPlacedEvent(from: Viewed, at: number, end: number, change: Mutation): number {
  const next = readChange(from, at, end, change);
  return next >= 0 && isEvent(from.bytes, at, HAS_PLACE, change) ? next : -1;
}

/** Returns the length of an event with a place; `length` is that without one. */
export function placedEventBytes(length: number): number {
  return length + PLACE_BYTES;
}

/** Copies the event of `length` bytes at `start` to `at`, with a place. Returns the offset after it. */
export function copyPlaced(
  from: Buffer,
  start: number,
  length: number,
  { bytes, view }: Viewed,
  at: number,
  partition: number,
  sequence: number,
): number {
  const fields = start + CHANGE_BYTES_MIN;
  from.copy(bytes, at, start, fields);
  view.setUint32(at, placedEventBytes(length), true);
  bytes[at + 5]! |= HAS_PLACE;
  const next = writePlace(view, at + CHANGE_BYTES_MIN, partition, sequence);
  return next + from.copy(bytes, next, fields, start + length);
}

function eventFields(change: Mutation): number {
  return fieldsOf(change, change.operation === SET ? SENT_FIELDS : HAS_MAKER);
}

/** Whether the change that was read at `at` is an event, apart from its fields `also`. */
function isEvent(bytes: Buffer, at: number, also: number, change: Mutation): boolean {
  const { operation, name, key, contentType, value, path, version } = change;
  const fields = bytes[at + 5]!;
  if ((fields & also) !== also || policyAt(bytes, at) > POLICY_MAX) return false;
  if (isReservedMap(name) || path.length > SENT_PATH_BYTES_MAX || version.isNone) return false;
  const own = fields ^ also;
  if (operation === SET) return (own & ~SENT_FIELDS) === 0;
  if (contentType.length + value.length > 0) return false;
  if (operation === DELETE) return (own & ~HAS_MAKER) === 0;
  return operation === CLEAR && key.length === 0 && own === 0;
}
