/**
 * One change of the stored data, as a message: the argument of sinks (mutation-sink.ts), the result of
 * a visit, and the input of a replay (stored-engine.ts). The same object is reused for each; its reader
 * reads it during the call and copies the bytes to keep.
 *
 * Messages carry all that is needed to make the same change elsewhere, in any order of partitions:
 *
 * - An entry's change is known by its key and its `version`: of two, the later one counts.
 * - An item's change is known by its queue and its `item`, which no queue of that name ever has twice.
 *   Only a RETURN says of an item that has gone that it is there again.
 * - A map lives from its first entry to a clear, or until it is empty; `life` is the version that the
 *   life began with. A set carries the life it was written in, a clear the one it begins. A message of
 *   an earlier life than the latest known of the map is dropped.
 */
import { Span } from '../base/span.ts';
import { EVERY_PARTITION } from './engine.ts';
import { Version } from './version.ts';

/** The entry of `key` has been written. */
export const SET = 1;
/** The entry of `key` has been deleted. */
export const DELETE = 2;
/** The entry of `key` has been removed because its time was over. */
export const EXPIRE = 3;
/** Every entry of the map is gone. */
export const CLEAR = 4;
/** The item has been added to the queue. */
export const OFFER = 5;
/** The item has been removed: it was taken. */
export const REMOVE = 6;
/** The item has returned to its old place: its taker did not get it. */
export const RETURN = 7;

export type Operation = 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** `origin`: a caller of the engine made it. */
export const FROM_CLIENT = 0;
/** `origin`: it was made before, and has been restored from a log or a snapshot. */
export const FROM_REPLAY = 1;
/** `origin`: this, and every greater number, is a replication source by number. */
export const FROM_SOURCE = 2;

/** Bytes of a data set's id, a UUID. */
export const DATA_SET_ID_BYTES = 16;
/** Data sets that a path names at most. */
export const PATH_LENGTH_MAX = 16;

export class Mutation {
  operation: Operation = SET;
  origin = FROM_CLIENT;
  /** Partition of the key, or of the queue's name; EVERY_PARTITION for a clear. */
  partition = EVERY_PARTITION;
  /** The partition's, from this change on; of a clear that of every partition (see Engine.clear). */
  sequence = 0;
  /** The map or the queue. */
  readonly name = new Span();
  /** The entry's key; empty otherwise. */
  readonly key = new Span();
  /** SET, OFFER, RETURN: the bytes stored. */
  readonly value = new Span();
  /** SET, OFFER, RETURN: the content type; empty for none. */
  readonly contentType = new Span();
  /** The version of the change; later than every one before it in this member. */
  readonly version = new Version();
  /** SET, DELETE, EXPIRE: the version of the old entry; none if there was none. */
  readonly replaced = new Version();
  /** SET, DELETE, EXPIRE, CLEAR: the map's life. */
  readonly life = new Version();
  /** The ids of its path, one behind the other; empty where it names none. */
  readonly path = new Span();
  /**
   * SET, DELETE: the maker, which is the data set that gave the version, by the first four bytes of its id
   * (makerOf); 0 for this one.
   */
  maker = 0;
  /** OFFER, REMOVE, RETURN: the item's sequence in its queue. */
  item = 0;
  /** SET: when the entry's time to live ends, in ms since 1970; 0 for never. */
  expiryMs = 0;
  /** SET: seconds without a read after which the entry goes; 0 for no limit. */
  maxIdleSeconds = 0;
  /** SET: how often the entry has been read, over overwrites; 0 where its map keeps no statistics. */
  hits = 0;
  /** SET: its last read, in seconds since 1970; 0 for none, or where its map keeps no statistics. */
  lastAccessSeconds = 0;
  /**
   * DELETE, EXPIRE, CLEAR: up to which version sets that are merged later lose against it, which is what its
   * tombstone says; none where it leaves no tombstone.
   */
  readonly tombstone = new Version();

  /** Sets the two further words of a record: `hits` and `lastAccessSeconds` of a SET, or `tombstone`. */
  setWords(low: number, high: number): void {
    const isSet = this.operation === SET;
    this.hits = isSet ? low : 0;
    this.lastAccessSeconds = isSet ? high >>> 0 : 0;
    this.tombstone.set(isSet ? 0 : low, isSet ? 0 : high);
  }
}

/** The maker that a data set is, by the id at `at`. */
export function makerOf(bytes: Buffer, at: number): number {
  return bytes.readInt32LE(at);
}

/**
 * Which of two changes of one key, in one life of its map, counts: positive for the first, negative for the
 * other, 0 where they say the same. It is the one with the later version. Of one version it is a delete
 * before a set, an expiry between them; of two sets the one whose life ends later (time to live, then max
 * idle; none is the latest), then the one with the greater bytes (of the value, then of the content type).
 * A total order over what the changes say of the entry.
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

/** 0 is no end, which is the latest. */
function compareEnds(end: number, other: number): number {
  if (end === other) return 0;
  if (end === 0) return 1;
  return other === 0 || end < other ? -1 : 1;
}

/** As unsigned bytes; of two of which one begins the other, the longer is greater. */
function compareBytes(span: Span, other: Span): number {
  return span.bytes.compare(other.bytes, other.start, other.end, span.start, span.end);
}
