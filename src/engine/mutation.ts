/**
 * One change of the stored data, as a message: the argument of sinks (mutation-sink.ts), the result
 * of a visit, and the input of a replay (stored-engine.ts). One object is reused for all messages;
 * its reader reads it during the call and copies the bytes it needs later.
 *
 * Messages contain all that is needed to make the same change elsewhere, in any order of
 * partitions:
 *
 * - A change of an entry is identified by its key and its `version`; the later of two changes wins.
 * - A change of an item is identified by its queue and its `item`, which is unique among all queues
 *   of that name, past and present. Only a RETURN restores an item that was removed.
 * - A map lives from its first entry until a clear, or until it is empty; `life` is the version at
 *   which the life began. A set carries the life it was written in, a clear the one it begins. A
 *   message of a life that is earlier than the map's latest recorded one is dropped.
 */
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { Span } from '../base/span.ts';
import { Version } from './version.ts';

/** The entry of `key` has been written. */
export const SET = 1;
/** The entry of `key` has been deleted. */
export const DELETE = 2;
/** The entry of `key` has been removed because it expired. */
export const EXPIRE = 3;
/** Every entry of the map has been removed. */
export const CLEAR = 4;
/** The item has been added to the queue. */
export const OFFER = 5;
/** The item has been removed by a take. */
export const REMOVE = 6;
/** The item has returned to its old place, because its taker did not receive it. */
export const RETURN = 7;

export type Operation = 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** `origin`: a caller of the engine made the mutation. */
export const FROM_CLIENT = 0;
/** `origin`: the mutation was made before, and is restored from a log or a snapshot. */
export const FROM_REPLAY = 1;
/** `origin`: this number, and every greater one, identifies a replication source. */
export const FROM_SOURCE = 2;

/** Length of a data set's id, a UUID, in bytes. */
export const DATA_SET_ID_BYTES = 16;
/** Maximum number of data sets in a path. */
export const PATH_LENGTH_MAX = 16;

export class Mutation {
  operation: Operation = SET;
  origin = FROM_CLIENT;
  /** Partition of the key, or of the queue's name; EVERY_PARTITION for a clear. */
  partition = EVERY_PARTITION;
  /**
   * The partition's sequence as of this change; for a clear, the sequence of every partition (see
   * Engine.clear).
   */
  sequence = 0;
  /** Name of the map or queue. */
  readonly name = new Span();
  /** The entry's key; empty otherwise. */
  readonly key = new Span();
  /** SET, OFFER, RETURN: the stored bytes. */
  readonly value = new Span();
  /** SET, OFFER, RETURN: the content type; empty if there is none. */
  readonly contentType = new Span();
  /** The version of the change; later than the version of every earlier change of this member. */
  readonly version = new Version();
  /** SET, DELETE, EXPIRE: the version of the replaced entry; none if there was no entry. */
  readonly replaced = new Version();
  /** SET, DELETE, EXPIRE, CLEAR: the map's life. */
  readonly life = new Version();
  /** The ids of the data sets on its path, concatenated; empty if it has no path. */
  readonly path = new Span();
  /**
   * SET, DELETE: the maker, that is, the data set that generated the version, as the first four
   * bytes of its id (makerOf); 0 for this data set.
   */
  maker = 0;
  /** OFFER, REMOVE, RETURN: the item's sequence in its queue. */
  item = 0;
  /** SET: when the entry's time to live ends, in ms since 1970; 0 if never. */
  expiryMs = 0;
  /** SET: seconds without a read after which the entry expires; 0 for no limit. */
  maxIdleSeconds = 0;
  /** SET: number of reads of the entry, across overwrites; 0 if its map has no statistics. */
  hits = 0;
  /** SET: last read, in seconds since 1970; 0 if there was none, or its map has no statistics. */
  lastAccessSeconds = 0;
  /**
   * DELETE, EXPIRE, CLEAR: the version in its tombstone. Sets that are merged later lose against
   * the tombstone up to this version. None if there is no tombstone.
   */
  readonly tombstone = new Version();
}

/** Returns the maker number of a data set, whose id the bytes begin with. */
export function makerOf(bytes: Buffer): number {
  return bytes.readInt32LE(0);
}

/**
 * Compares two changes of one key in one life of its map. Returns a positive number if the first
 * wins, a negative one if the second wins, 0 if they are equal. The later version wins. With equal
 * versions, a delete wins over an expiry, and an expiry over a set. If both are sets, the one whose
 * lifetime ends later wins (time to live, then max idle; no end is the latest), then the one with
 * the greater bytes (value, then content type). This is a total order of the changes by their
 * content.
 */
export function compareChanges(change: Mutation, other: Mutation): number {
  if (!change.version.is(other.version)) return change.version.isAfter(other.version) ? 1 : -1;
  const byOperation = rankOf(change.operation) - rankOf(other.operation);
  if (byOperation !== 0 || change.operation !== SET) return byOperation;
  const byExpiry = compareEnds(change.expiryMs, other.expiryMs);
  if (byExpiry !== 0) return byExpiry;
  const byMaxIdle = compareEnds(change.maxIdleSeconds, other.maxIdleSeconds);
  if (byMaxIdle !== 0) return byMaxIdle;
  const byValue = compareBytes(change.value, other.value);
  return byValue !== 0 ? byValue : compareBytes(change.contentType, other.contentType);
}

function rankOf(operation: Operation): number {
  return operation === DELETE ? 2 : operation === EXPIRE ? 1 : 0;
}

/** Compares two ends of a lifetime; 0 means no end, which is the latest. */
export function compareEnds(end: number, other: number): number {
  if (end === other) return 0;
  if (end === 0) return 1;
  return other === 0 || end < other ? -1 : 1;
}

/** Compares unsigned bytes; if one span is a prefix of the other, the longer one is greater. */
function compareBytes(span: Span, other: Span): number {
  return span.bytes.compare(other.bytes, other.start, other.end, span.start, span.end);
}
