/**
 * The contract of an engine whose data is on servers, as the sending side of WAN replication uses it.
 * A change of a map that has a reference to a replication gets its version from the clock of its
 * partition, leaves a tombstone if it removes something, and marks its key for each publisher of the
 * replication, all in one step. A partition has a set of marks for each publisher: the keys that wait,
 * by the number of their last change. Numbers rise within a partition; they are microseconds since
 * 1970, or later. No event and no value is copied: the present state of a key is read when it is sent.
 * Tested by redis/marked-maps.spec.ts.
 */
import type { Span } from '../base/span.ts';
import type { Mutation } from './mutation.ts';

/** A publisher, as changes are marked for it. Its fields are read with each change. */
export interface MarkedPublisher {
  /** Its name in keys: the first 16 bytes of the SHA-256 of its names. */
  readonly name: Buffer;
  /** Maximum number of keys that wait in a partition. */
  readonly partitionCapacity: number;
  /** Whether changes made through this member are marked. */
  readonly isMarking: boolean;
  /**
   * Whether a client's change that has no room is refused, with REPLICATION_FULL. Otherwise it is made
   * without a mark; so is a merged change.
   */
  readonly refusesWhenFull: boolean;
  /** Id of the data set that it sends to, once known: changes that came from it are not marked. */
  readonly targetDataSet: Buffer | undefined;
}

/** A map's reference to a replication. */
export interface MapReference {
  /** The publishers of the replication; without any, changes have versions and tombstones only. */
  readonly publishers: readonly MarkedPublisher[];
  /** Whether changes that were merged are marked. */
  readonly republishing: boolean;
  /** See keepsEarlier in merge-policy.ts: a set also records the expiry of the entry before. */
  readonly keepsEarlier: boolean;
  /** Returns whether changes of the key are marked. The key is only valid during the call. */
  accepts(key: Span): boolean;
}

/**
 * Returns the map's reference, or undefined. The result for a name is cached until `setReferences` is
 * called.
 */
export type MapReferences = (map: Buffer) => MapReference | undefined;

/** A key that waits, in its present state, or a map that was cleared. */
export interface WaitingChange {
  /** Number of its last change: 1 or more, an integer, unique in the partition and publisher. */
  readonly number: number;
  /** The entry, a SET; undefined if there is none. */
  readonly entry: Mutation | undefined;
  /**
   * The recorded removal of the key, which is earlier than the entry: a DELETE, also if the entry has
   * expired, or if it was set after the map was cleared; or the CLEAR of the map. Undefined if none is
   * recorded.
   */
  readonly removal: Mutation | undefined;
}

/** Keys that wait in a partition. */
export interface WaitingChanges {
  /**
   * By rising numbers. Each has an entry or a removal, whose fields are `operation`, `name`, `key`,
   * `value`, `contentType`, `version`, `expiryMs`, `maxIdleSeconds`, `maker` and `path`. The bytes stay
   * valid.
   */
  readonly changes: readonly WaitingChange[];
  /**
   * Number up to which all keys were read, also those of which nothing is left to send; `after` if
   * there were none. Once the target has the changes, they are acknowledged up to this number.
   */
  readonly readTo: number;
  /** Whether more may wait. */
  readonly hasMore: boolean;
}

/** Limits of one read. */
export interface WaitingRoom {
  /** Maximum number of keys. */
  readonly count: number;
  /** Bytes of names, keys and values after which it ends; at least one key is read. */
  readonly bytes: number;
}

/** Maximum length of an entry that is read together with others, in bytes. */
export const WAITING_VALUE_BYTES_MAX = 65_536;

/** No promise rejects. Each resolves with undefined, or false, if the servers did not do it. */
export interface MarkedChanges {
  readonly partitionCount: number;

  /**
   * Replaces the references of all maps; undefined: no map has one. At first none has. To be called
   * whenever the configuration of maps or publishers has changed. Tombstones of changes that wait for
   * one of `publishers` are kept.
   */
  setReferences(
    references: MapReferences | undefined,
    publishers?: readonly MarkedPublisher[],
  ): void;

  /**
   * Registers a listener for changes through this member that have marked keys of the partition. It
   * must not call the engine.
   */
  onMarked(listener: (partition: number) => void): void;

  /** Registers a listener for changes through this member that got no mark, as there was no room. */
  onNotMarked(listener: (publisher: MarkedPublisher) => void): void;

  /**
   * Reads keys that wait, with numbers greater than `after`, in their order. Resolves once the
   * state that was read is on as many replicas as its maps require, so that no failover loses it.
   */
  readWaiting(
    publisher: MarkedPublisher,
    partition: number,
    after: number,
    room: WaitingRoom,
  ): Promise<WaitingChanges | undefined>;

  /**
   * Removes the marks up to the number. A key that has changed since it was read has a greater one.
   * Repeatable. Resolves with the number of marks that were removed.
   */
  acknowledgeMarks(
    publisher: MarkedPublisher,
    partition: number,
    number: number,
  ): Promise<number | undefined>;

  /** Removes all marks of the partition. Resolves with whether that is done. */
  dropWaiting(publisher: MarkedPublisher, partition: number): Promise<boolean>;

  /** Resolves with the number of marks of each partition. */
  waitingCounts(
    publisher: MarkedPublisher,
    partitions: readonly number[],
  ): Promise<readonly (number | undefined)[]>;

  /**
   * Removes the marks of all publishers whose names are not among these, as no configuration has them
   * any more. Resolves with the number of marks.
   */
  dropOthers(names: readonly Buffer[]): Promise<number | undefined>;
}
