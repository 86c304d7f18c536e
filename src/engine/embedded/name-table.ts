/**
 * Names as small numbers: one table each for maps, queues and content types. A name is a record like
 * any other, in the partition of its own hash, so names cost no objects, grow with the rest, and are
 * moved by the cleaner. The table has for each id the address of the record and the count of its uses;
 * ids of names that are gone are given again.
 *
 * Most requests have the same name as the request before them, so the last name is compared first.
 */

import type { Span } from '../../base/span.ts';
import { IdColumns } from './id-columns.ts';
import { KeyWords } from './key-words.ts';
import type { PagedIntegers } from './paged-array.ts';
import type { Partition } from './partition.ts';
import {
  KEY_BYTES_MAX,
  KIND_NAME,
  keyAt,
  keyLengthAt,
  recordBytes,
  tagAt,
  writeHead,
  writeVersion,
} from './record.ts';
import type { RecordStore } from './record-store.ts';

/** Owners of the records, below every id of a map. */
export const MAP_NAMES = -1;
export const QUEUE_NAMES = -2;
export const CONTENT_TYPES = -3;

export class NameTable {
  readonly #store: RecordStore;
  /** Owner of this table's records. */
  readonly owner: number;
  /** Address of each id's record; 0 for an id that is free or retired. */
  readonly #addresses: PagedIntegers;
  readonly #uses: PagedIntegers;
  /** The ids, from 1, with columns of other data by id. */
  readonly ids: IdColumns;
  /** The present name, and the last one found with its id (0: none) and partition. */
  #asked = new KeyWords();
  #last = new KeyWords();
  #lastId = 0;
  #lastPartition = 0;
  /** The partition of the last name, known or not. */
  partition = 0;

  constructor(store: RecordStore, owner: number) {
    this.#store = store;
    this.owner = owner;
    this.ids = new IdColumns(store.pool);
    this.#addresses = this.ids.integers();
    this.#uses = this.ids.integers();
  }

  /** Ids in use, retired ones included. */
  get count(): number {
    return this.ids.count;
  }

  /** The name's id, or 0. */
  find(name: Span): number {
    if (this.#lastId !== 0 && this.#last.is(name)) {
      this.partition = this.#lastPartition;
      return this.#lastId;
    }
    const asked = this.#asked.load(name);
    const store = this.#store;
    this.partition = store.partitionOf(asked);
    const partition = store.partition(this.partition);
    if (partition === undefined) return 0;
    const address = partition.find(this.owner, store.hash(this.owner, asked), asked);
    if (address === 0) return 0;
    const id = tagAt(store.pool.words(address), store.pool.at(address));
    this.#remember(id);
    return id;
  }

  /**
   * The name's id, a new one without uses if need be; 0 when there is no memory, also not with
   * `lentBytes` beyond the limit.
   */
  open(name: Span, lentBytes = 0): number {
    const found = this.find(name);
    if (found !== 0) return found;
    const store = this.#store;
    const asked = this.#asked;
    if (asked.length > KEY_BYTES_MAX) return 0;
    const partition = store.openPartition(this.partition);
    const length = recordBytes(KIND_NAME, asked.length, 0);
    let address = partition.makeRoom() ? partition.log.allocate(length, false) : 0;
    if (address === 0 && lentBytes > 0) address = this.#borrow(partition, length, lentBytes);
    if (address === 0) {
      partition.shrink();
      return 0;
    }
    const id = this.ids.take();
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    writeHead(words, at, KIND_NAME, this.owner, id, asked, 0);
    writeVersion(words, at, 0, 0);
    partition.insert(store.hash(this.owner, asked), address);
    this.#addresses.set(id, address);
    this.#uses.set(id, 0);
    store.debtors.push(partition);
    this.#remember(id);
    return id;
  }

  /** Memory of its own for a name, as a segment would be too much to lend. */
  #borrow(partition: Partition, length: number, lentBytes: number): number {
    const { meter, pool } = this.#store;
    meter.lend(lentBytes);
    const address = partition.makeRoom() ? pool.takeLong(length) : 0;
    meter.lend(0);
    return address;
  }

  /** Uses of the name. */
  uses(id: number): number {
    return this.#uses.get(id);
  }

  use(id: number): void {
    this.#uses.set(id, this.#uses.get(id) + 1);
  }

  /** Ends a use; the name goes with the last one. */
  release(id: number): void {
    this.#uses.set(id, this.#uses.get(id) - 1);
    this.dropUnused(id);
  }

  /** Forgets a name without uses. */
  dropUnused(id: number): void {
    if (this.#uses.get(id) > 0) return;
    this.retire(id);
    this.recycle(id);
  }

  /** Forgets the name, whatever its uses, but keeps the id until it is recycled. */
  retire(id: number): void {
    const store = this.#store;
    const address = this.#addresses.get(id);
    const hash = store.hashAt(store.pool.words(address), store.pool.at(address));
    const partition = store.openPartition(this.#partitionAt(address));
    partition.remove(hash, address);
    store.debtors.push(partition);
    this.#addresses.set(id, 0);
    this.#uses.set(id, 0);
    if (id === this.#lastId) this.#lastId = 0;
  }

  /** The id may be given again. */
  recycle(id: number): void {
    this.ids.free(id);
  }

  /** Address of the name's record; 0 for a name that has been retired. */
  address(id: number): number {
    return this.#addresses.get(id);
  }

  /** Sets the span to the name's bytes. */
  name(id: number, span: Span): void {
    const { pool } = this.#store;
    const address = this.#addresses.get(id);
    const words = pool.words(address);
    const at = pool.at(address);
    const start = keyAt(words, at) * 4;
    span.set(pool.bytes(address), start, start + keyLengthAt(words, at));
    span.words = words;
  }

  /** The record has been moved. */
  moved(id: number, address: number): void {
    this.#addresses.set(id, address);
  }

  #partitionAt(address: number): number {
    const { pool } = this.#store;
    return this.#store.partitionOfKeyAt(pool.words(address), pool.at(address));
  }

  #remember(id: number): void {
    const asked = this.#asked;
    this.#asked = this.#last;
    this.#last = asked;
    this.#lastId = id;
    this.#lastPartition = this.partition;
  }
}
