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
  /** OFFER, REMOVE, RETURN: the item's sequence in its queue. */
  item = 0;
  /** SET: when the entry's time to live ends, in ms since 1970; 0 for never. */
  expiryMs = 0;
  /** SET: seconds without a read after which the entry goes; 0 for no limit. */
  maxIdleSeconds = 0;
}
