/**
 * The maps. All entries of a partition stand in one index, whatever their map: the map is a number
 * in the record (its id, which a clear ends) and a count of uses in the table of names. Each kind of
 * mutation is made in one place, in three steps: what it needs is reserved and may be refused; it is
 * made, and cannot fail; it is paid for with a share of the background work.
 */
import type { Span } from '../../base/span.ts';
import { APPLIED, MEMORY_FULL, type Outcome } from '../engine.ts';
import type { Cleaner } from './cleaner.ts';
import { KeyWords } from './key-words.ts';
import type { NameTable } from './name-table.ts';
import type { Partition } from './partition.ts';
import {
  bytesAt,
  KEY_BYTES_MAX,
  KIND_ENTRY,
  ownerAt,
  recordBytes,
  tagAt,
  VALUE_BYTES_MAX,
  writeHead,
  writeValue,
  writeVersion,
} from './record.ts';
import type { RecordStore } from './record-store.ts';
import type { Sweeper } from './sweeper.ts';

export class Maps {
  readonly #store: RecordStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #cleaner: Cleaner;
  readonly #sweeper: Sweeper;
  readonly #key = new KeyWords();
  /** The partition of the key that was named last. */
  partition = 0;

  constructor(
    store: RecordStore,
    names: NameTable,
    contentTypes: NameTable,
    cleaner: Cleaner,
    sweeper: Sweeper,
  ) {
    this.#store = store;
    this.#names = names;
    this.#contentTypes = contentTypes;
    this.#cleaner = cleaner;
    this.#sweeper = sweeper;
  }

  /** Address of the entry's record, or 0. */
  find(map: Span, key: Span): number {
    const store = this.#store;
    const words = this.#key.load(key);
    this.partition = store.partitionOf(words);
    const id = this.#names.find(map);
    if (id === 0) return 0;
    const partition = store.partition(this.partition);
    return partition === undefined ? 0 : partition.find(id, store.hash(id, words), words);
  }

  /** APPLIED or MEMORY_FULL. */
  set(map: Span, key: Span, value: Span, contentType: Span): Outcome {
    const words = this.#key.load(key);
    this.partition = this.#store.partitionOf(words);
    if (key.length > KEY_BYTES_MAX || value.length > VALUE_BYTES_MAX) return MEMORY_FULL;
    const id = this.#names.open(map);
    if (id === 0) return MEMORY_FULL;
    const type = contentType.length === 0 ? 0 : this.#contentTypes.open(contentType);
    if (type !== 0 || contentType.length === 0) {
      if (this.#put(id, type, value)) return APPLIED;
      if (type !== 0) this.#contentTypes.dropUnused(type);
    }
    this.#names.dropUnused(id);
    this.#cleaner.payForNames();
    return MEMORY_FULL;
  }

  /** Whether there was such an entry; then it is gone. */
  delete(map: Span, key: Span): boolean {
    const address = this.find(map, key);
    if (address === 0) return false;
    this.#remove(address);
    return true;
  }

  /** Whether there was such a map; then it is gone with all its entries. */
  clear(map: Span): boolean {
    const id = this.#names.find(map);
    if (id === 0) return false;
    this.#names.retire(id);
    this.#sweeper.add(id);
    this.#store.raiseAll();
    return true;
  }

  /** Entries of the map. */
  size(map: Span): number {
    const id = this.#names.find(map);
    return id === 0 ? 0 : this.#names.uses(id);
  }

  /** Writes the entry of `#key`; false, and nothing has changed, when there is no memory. */
  #put(id: number, type: number, value: Span): boolean {
    const store = this.#store;
    const key = this.#key;
    const pool = store.pool;
    const partition = store.openPartition(this.partition);
    const hash = store.hash(id, key);
    const length = recordBytes(KIND_ENTRY, key.length, value.length);
    const old = partition.find(id, hash, key);
    const address = this.#reserve(partition, old, length);
    if (address === 0) return false;
    const oldType = old === 0 ? 0 : tagAt(pool.words(old), pool.at(old));
    const words = pool.words(address);
    const at = pool.at(address);
    writeHead(words, at, KIND_ENTRY, id, type, key, value.length);
    store.versions.tick();
    writeVersion(words, at, store.versions.low, store.versions.high);
    writeValue(words, pool.bytes(address), at, value);
    if (old === 0) {
      partition.insert(hash, address);
      this.#names.use(id);
    } else if (old !== address) {
      partition.replace(hash, old, address);
      partition.log.kill(old);
    }
    if (type !== 0) this.#contentTypes.use(type);
    if (oldType !== 0) this.#contentTypes.release(oldType);
    store.raise(partition.number);
    this.#cleaner.pay(partition);
    this.#sweeper.pay(partition);
    return true;
  }

  /** Where the record is to be written: over the old one where that can be; 0 without memory. */
  #reserve(partition: Partition, old: number, length: number): number {
    const pool = this.#store.pool;
    if (old === 0) return partition.makeRoom() ? partition.log.allocate(length, false) : 0;
    const fits = bytesAt(pool.words(old), pool.at(old)) === length;
    return fits && pool.writable(old) ? old : partition.log.allocate(length, false);
  }

  /** Removes the entry of `#key`, whose record is there. */
  #remove(address: number): void {
    const store = this.#store;
    const partition = store.partition(this.partition)!;
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    const id = ownerAt(words, at);
    const type = tagAt(words, at);
    partition.remove(store.hash(id, this.#key), address);
    this.#names.release(id);
    if (type !== 0) this.#contentTypes.release(type);
    store.raise(partition.number);
    this.#cleaner.pay(partition);
    this.#sweeper.pay(partition);
  }
}
