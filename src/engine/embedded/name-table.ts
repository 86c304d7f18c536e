/**
 * Names as small numbers: one table each for maps, queues and content types. A name is a cell like
 * any other, in the partition of its own hash, so names use no objects, grow with the other data,
 * and are moved by the cleaner. For each id the table contains the address of the cell and the
 * number of its uses; ids of removed names are reused.
 *
 * Most requests have the same name as the request before them, so the last name is compared first.
 */
import assert from 'node:assert/strict';
import type { Span } from '../../base/span.ts';
import { KeyWords } from '../key-words.ts';
import {
  CELL_KEY_BYTES_MAX,
  cellBytes,
  isDeadAt,
  KIND_NAME,
  kindAt,
  nameKey,
  ownerAt,
  tagAt,
  writeHead,
  writeVersion,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import { IdColumns } from './id-columns.ts';
import type { PagedIntegers } from './paged-array.ts';
import type { Partition } from './partition.ts';

/** Owners of the cells, below every id of a map. */
export const MAP_NAMES = -1;
export const QUEUE_NAMES = -2;
export const CONTENT_TYPES = -3;

export class NameTable {
  readonly #store: CellStore;
  /** Owner of this table's cells. */
  readonly owner: number;
  /** Address of each id's cell; 0 for a free or retired id. */
  readonly #addresses: PagedIntegers;
  readonly #uses: PagedIntegers;
  /** The ids in use, including retired ones, from 1, with columns of other data by id. */
  readonly ids: IdColumns;
  /** The name of the current call, and the last name that was found, with its id (0: none). */
  #current = new KeyWords();
  #last = new KeyWords();
  #lastId = 0;
  readonly #onOpened: (id: number) => void;
  /** Number of names, without the retired ids. */
  count = 0;
  /** Number of uses of all names. */
  useCount = 0;

  /** `onOpened` is called with each new id. */
  constructor(store: CellStore, owner: number, onOpened: (id: number) => void = () => {}) {
    this.#store = store;
    this.owner = owner;
    this.#onOpened = onOpened;
    this.ids = new IdColumns(store.pool);
    this.#addresses = this.ids.integers();
    this.#uses = this.ids.integers();
  }

  /** Returns the name's id, or 0. */
  find(name: Span): number {
    if (this.#lastId !== 0 && this.#last.is(name)) return this.#lastId;
    const current = this.#current.load(name);
    const store = this.#store;
    const partition = store.partition(store.partitionOf(current));
    if (partition === undefined) return 0;
    const address = partition.find(this.owner, store.hash(this.owner, current), current);
    if (address === 0) return 0;
    const id = tagAt(store.pool.words(address), store.pool.at(address));
    this.#cacheLast(id);
    return id;
  }

  /** Returns the partition number of the name, which need not have an id. */
  partitionOf(name: Span): number {
    return this.#store.partitionOf(this.#current.load(name));
  }

  /**
   * Returns the name's id, which is assigned without uses if necessary; 0 if there is no memory,
   * even with `lentBytes` beyond the limit.
   */
  open(name: Span, lentBytes = 0): number {
    const found = this.find(name);
    if (found !== 0) return found;
    const store = this.#store;
    const current = this.#current;
    if (current.length > CELL_KEY_BYTES_MAX) return 0;
    const partition = store.openPartition(store.partitionOf(current));
    const length = cellBytes(KIND_NAME, current.length, 0);
    let address = partition.makeRoom() ? partition.log.allocate(length, false) : 0;
    if (address === 0 && lentBytes > 0) address = this.#borrow(partition, length, lentBytes);
    if (address === 0) {
      partition.shrink();
      return 0;
    }
    const id = this.ids.allocate();
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    writeHead(words, at, KIND_NAME, this.owner, id, current, 0);
    writeVersion(words, at, 0, 0);
    partition.insert(store.hash(this.owner, current), address);
    this.#addresses.set(id, address);
    this.#uses.set(id, 0);
    this.count++;
    store.debtors.push(partition);
    this.#cacheLast(id);
    this.#onOpened(id);
    return id;
  }

  /** Allocates a name's cell apart from the extents: lending a whole extent would be too much. */
  #borrow(partition: Partition, length: number, lentBytes: number): number {
    const { meter, pool } = this.#store;
    meter.lend(lentBytes);
    const address = partition.makeRoom() ? pool.allocateLong(length) : 0;
    meter.lend(0);
    return address;
  }

  /** Returns the number of uses of the name. */
  uses(id: number): number {
    return this.#uses.get(id);
  }

  use(id: number): void {
    this.#uses.set(id, this.#uses.get(id) + 1);
    this.useCount++;
  }

  /** Ends a use; the name is removed with the last one. */
  release(id: number): void {
    const uses = this.#uses.get(id);
    if (uses === 0) assert.fail('the name has no uses');
    this.#uses.set(id, uses - 1);
    this.useCount--;
    if (uses === 1) this.dropUnused(id);
  }

  /** Removes a name without uses. */
  dropUnused(id: number): void {
    if (this.#uses.get(id) > 0) return;
    this.retire(id);
    this.recycle(id);
  }

  /** Removes the name, whatever its uses, but keeps the id until it is recycled. */
  retire(id: number): void {
    const store = this.#store;
    const address = this.#addresses.get(id);
    if (address === 0) assert.fail('the name is already retired');
    const hash = store.hashAt(store.pool.words(address), store.pool.at(address));
    const partition = store.openPartition(this.#partitionAt(address));
    partition.remove(hash, address);
    store.debtors.push(partition);
    this.count--;
    this.useCount -= this.#uses.get(id);
    this.#addresses.set(id, 0);
    this.#uses.set(id, 0);
    if (id === this.#lastId) this.#lastId = 0;
  }

  /** Frees the id, which may then be reused. */
  recycle(id: number): void {
    if (this.#addresses.get(id) !== 0) assert.fail('the id still has a name');
    this.ids.free(id);
  }

  /** Returns the lowest id in use after this one, or 0. The id may be retired. */
  next(id: number): number {
    return this.ids.next(id);
  }

  /** Returns the address of the name's cell; 0 for a retired name. */
  address(id: number): number {
    return this.#addresses.get(id);
  }

  /** Sets the span to the name's bytes; clears it for a retired id, and for the id 0. */
  name(id: number, span: Span): void {
    const address = this.#addresses.get(id);
    if (address === 0) {
      span.clear();
      return;
    }
    const { pool } = this.#store;
    nameKey(pool.words(address), pool.bytes(address), pool.at(address), span);
  }

  /** Updates the address of a name's cell that has been moved. */
  moved(id: number, address: number): void {
    this.#addresses.set(id, address);
  }

  /**
   * Asserts that each id except the retired ones refers to the cell of its name, that the cell is
   * found, and that the counts of names and uses are correct. O(ids).
   */
  invariants(retired: ReadonlySet<number>, usesOf: (id: number) => number): void {
    const { pool } = this.#store;
    this.ids.invariants();
    let count = 0;
    let useCount = 0;
    for (const id of this.ids.used()) {
      const address = this.#addresses.get(id);
      assert.equal(address === 0, retired.has(id), `id ${id} is retired`);
      if (address === 0) continue;
      count++;
      useCount += usesOf(id);
      const words = pool.words(address);
      const at = pool.at(address);
      assert.ok(!isDeadAt(words, at) && kindAt(words, at) === KIND_NAME, 'the cell of a name');
      assert.deepEqual(
        [ownerAt(words, at), tagAt(words, at)],
        [this.owner, id],
        'owner and id of the cell of a name',
      );
      const index = this.#store.partition(this.#partitionAt(address))?.index;
      assert.ok(index !== undefined && index.find(this.#store.hashAt(words, at), address) >= 0);
      assert.equal(this.#uses.get(id), usesOf(id), `uses of id ${id}`);
    }
    assert.deepEqual([this.count, this.useCount], [count, useCount], 'counts of names and uses');
    assert.ok(this.#lastId === 0 || this.#addresses.get(this.#lastId) !== 0, 'the last name');
  }

  #partitionAt(address: number): number {
    const { pool } = this.#store;
    return this.#store.partitionOfKeyAt(pool.words(address), pool.at(address));
  }

  #cacheLast(id: number): void {
    const current = this.#current;
    this.#current = this.#last;
    this.#last = current;
    this.#lastId = id;
  }
}
