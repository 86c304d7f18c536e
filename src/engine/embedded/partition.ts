/**
 * One partition: the log with its cells and the index that finds entries and names in it. It uses
 * no memory until its first write, and half a kilobyte once it is empty again.
 * Tested by engine-invariants.spec.ts.
 */

import type { KeyWords } from '../key-words.ts';
import { hasKeyAt } from './cell.ts';
import { CellLog } from './cell-log.ts';
import type { ExtentPool } from './extent-pool.ts';
import { HashIndex, type Visitor, WALK_END } from './hash-index.ts';
import type { MemoryMeter } from './memory-meter.ts';

/** Maximum number of places of an index, as a power of two; within the bits of a hash. */
const INDEX_BITS_MAX = 28;

export class Partition {
  readonly number: number;
  readonly log: CellLog;
  readonly #pool: ExtentPool;
  readonly #meter: MemoryMeter;
  #index: HashIndex | undefined;
  /** Place of the index's table; see IndexTables. */
  #place = 0;
  /** Time before which none of the entries of existing maps ends, in ms since 1970. */
  dueMs = Number.POSITIVE_INFINITY;

  constructor(number: number, pool: ExtentPool, meter: MemoryMeter) {
    this.number = number;
    this.log = new CellLog(pool);
    this.#pool = pool;
    this.#meter = meter;
  }

  /**
   * Returns the address of the cell of `key` in `owner` with its hash (see CellStore.hash), or 0.
   */
  find(owner: number, hash: number, key: KeyWords): number {
    const index = this.#index;
    if (index === undefined) return 0;
    const pool = this.#pool;
    for (let place = index.first(hash); place >= 0; place = index.after(place, hash)) {
      const address = index.address(place);
      if (hasKeyAt(pool.words(address), pool.at(address), owner, key)) return address;
    }
    return 0;
  }

  /** The index; undefined until the first entry. */
  get index(): HashIndex | undefined {
    return this.#index;
  }

  /** Makes the index fit one more entry; false if there is no memory. */
  makeRoom(): boolean {
    const index = this.#index;
    if (index === undefined) {
      const first = new HashIndex();
      if (!this.#meter.allocate(first.bytes)) return false;
      this.#index = first;
      return true;
    }
    const bits = index.bitsToInsert;
    if (bits === index.bits) return true;
    const more = HashIndex.bytes(bits) - index.bytes;
    if (bits > INDEX_BITS_MAX || !this.#meter.allocate(more)) return false;
    this.#resize(index, bits);
    return true;
  }

  /** Adds a cell; makeRoom must have been called. */
  insert(hash: number, address: number): void {
    this.#index!.insert(hash, address);
  }

  /** Updates the address of a cell that has moved from `from` to `to`. */
  replace(hash: number, from: number, to: number): void {
    const index = this.#index!;
    index.setAddress(index.find(hash, from), to);
  }

  /** Removes the cell from the index and marks it as dead. */
  remove(hash: number, address: number): void {
    const index = this.#index!;
    index.remove(index.find(hash, address));
    this.log.kill(address);
    this.shrink();
  }

  /** Frees excess memory of the index, after removals. */
  shrink(): void {
    const index = this.#index;
    if (index !== undefined) this.#shrinkTo(index, index.bitsToShrink);
  }

  /** Frees all memory that the index does not need. */
  fit(): void {
    const index = this.#index;
    if (index !== undefined) this.#shrinkTo(index, index.bitsToFit);
  }

  /** Moves the index out of a slab that is to be emptied. */
  evacuate(): void {
    const index = this.#index;
    if (index !== undefined && this.#pool.tables.isEvacuated(this.#place)) {
      this.#resize(index, index.bits);
    }
  }

  /** The index's table; undefined without an index. */
  get table(): { readonly place: number; readonly bytes: number } | undefined {
    return this.#index === undefined ? undefined : { place: this.#place, bytes: this.#index.bytes };
  }

  /** Walks over the index; see HashIndex.walk. */
  walk(from: number, places: number, visitor: Visitor): number {
    return this.#index === undefined ? WALK_END : this.#index.walk(from, places, visitor);
  }

  #shrinkTo(index: HashIndex, bits: number): void {
    if (bits === index.bits) return;
    this.#meter.free(index.bytes - HashIndex.bytes(bits));
    this.#resize(index, bits);
  }

  #resize(index: HashIndex, bits: number): void {
    const { tables } = this.#pool;
    const bytes = HashIndex.bytes(bits);
    const place = tables.allocate(bytes);
    const old = index.resize(bits, tables.words(place, bytes));
    tables.free(this.#place, old);
    this.#place = place;
  }
}
