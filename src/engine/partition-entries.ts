/**
 * The contract of an engine whose data is on servers, as WAN replication reads whole maps: the entries
 * of one partition, page by page. Tested by redis/entry-reader.spec.ts.
 */
import type { Mutation } from './mutation.ts';

/** Limits of a page. */
interface PageRoom {
  /** Maximum number of entries, unless the servers store more of them together. */
  readonly count: number;
  /** Bytes of keys and values after which the page ends. */
  readonly bytes: number;
}

/** Some entries of a map in a partition. */
export interface EntriesRead {
  /**
   * SETs with the fields of a waiting entry (marked-changes.ts), without those that have expired. The
   * bytes stay valid.
   */
  readonly entries: readonly Mutation[];
  /** Keys of entries whose values are longer than LISTED_ENTRY_BYTES_MAX. */
  readonly longKeys: readonly Buffer[];
  /** The place at which the next page begins; undefined at the end. */
  readonly place: Buffer | undefined;
  /** Whether entries of earlier pages may be passed again, as the list had to begin again. */
  readonly beganAgain: boolean;
}

/** Maximum length of a stored value in a page, in bytes. */
export const LISTED_ENTRY_BYTES_MAX = 65_536;
/** Maximum number of names in a page. */
export const LISTED_MAPS_MAX = 1000;

/** No promise rejects. Each resolves with undefined if the servers did not do it. */
export interface PartitionEntries {
  readonly partitionCount: number;

  /**
   * Reads entries of the map in the partition, from `place` on, in no order; undefined for the first
   * page. An entry that exists throughout all pages is passed at least once, and only once if the
   * servers remain the same and no entry is added or removed. Resolves once what was read is on as many
   * replicas as the map requires, so that no failover loses it.
   */
  readEntries(
    map: Buffer,
    partition: number,
    place: Buffer | undefined,
    room: PageRoom,
  ): Promise<EntriesRead | undefined>;

  /** Reads the entry of a key, as readEntries does; `entry` is undefined if there is none. */
  readEntry(
    map: Buffer,
    key: Buffer,
  ): Promise<{ readonly entry: Mutation | undefined } | undefined>;

  /** Reads names of maps that have entries, from `place` on, in a fixed order. */
  readMaps(place: Buffer | undefined): Promise<MapsRead | undefined>;
}

interface MapsRead {
  readonly names: readonly Buffer[];
  readonly place: Buffer | undefined;
}
