/**
 * Counts of the data that an engine stores in this member, for its metrics. Each is kept as a number
 * where names and data are added and removed, so a read costs O(1) and changes nothing: an entry
 * whose time is over counts until it is removed.
 */
import type { Span } from '../base/span.ts';

/**
 * The names of all maps except the reserved one, or of all queues. A map has a name while it has
 * entries, a queue while it has items or takes that wait. Ids are 1 or more. An id is valid during
 * the turn: the id of a removed name may be assigned to another.
 */
export interface StoredNames {
  /** Number of names. */
  readonly count: number;
  /** Returns the id of the name, or 0. */
  find(name: Span): number;
  /** Returns the lowest id in use after this one, or 0. It may be that of a map that is cleared. */
  next(id: number): number;
  /** Sets the span to the name; clears it for a map that is cleared. Valid during the turn. */
  name(id: number, span: Span): void;
}

export interface DataFigures {
  readonly maps: StoredNames;
  readonly queues: StoredNames;
  /** Number of entries of these maps. */
  readonly entryCount: number;
  /** Number of items of all queues that can be taken. */
  readonly itemCount: number;
  /** Number of entries removed because their time was over, since the start of the engine. */
  readonly expiredEntryCount: number;

  /** Returns the number of entries of the map with this id. */
  entriesOf(map: number): number;

  /** Returns the bytes that the entries of the map with this id occupy. */
  bytesOf(map: number): number;

  /** Returns the number of items of the queue with this id that can be taken. */
  itemsOf(queue: number): number;

  /** Returns the number of items that were taken from the queue and may still return to it. */
  heldItemsOf(queue: number): number;

  /** Returns the number of takes that wait for an item of the queue. */
  waitersOf(queue: number): number;

  /** Returns the number of items that the queue accepts; may be Infinity. */
  capacityOf(queue: number): number;
}
