/**
 * One partition: the log with its cells and the index that finds entries and names in it. It costs
 * nothing until its first write, and half a kilobyte once it is empty again.
 */

import type { KeyWords } from '../key-words.ts';
import { hasKeyAt } from './cell.ts';
import { CellLog } from './cell-log.ts';
import type { ExtentPool } from './extent-pool.ts';
import { HashIndex, type Visitor, WALK_END } from './hash-index.ts';
import type { MemoryMeter } from './memory-meter.ts';

/** Most places of an index, as a power of two; within the bits of a hash. */
const INDEX_BITS_MAX = 28;

export class Partition {
  readonly number: number;
  readonly log: CellLog;
  readonly #pool: ExtentPool;
  readonly #meter: MemoryMeter;
  #index: HashIndex | undefined;
  /** Place of the index's table; see IndexTables. */
  #place = 0;
  /** How far the sweeper has come in its pass; WALK_END when this partition is done. */
  sweptTo = WALK_END;
  /** Before this moment, in ms since 1970, none of its entries goes by itself. */
  dueMs = Number.POSITIVE_INFINITY;

  constructor(number: number, pool: ExtentPool, meter: MemoryMeter) {
    this.number = number;
    this.log = new CellLog(pool);
    this.#pool = pool;
    this.#meter = meter;
  }

  /** Entries and names in the index, including those of cleared maps that are left. */
  get count(): number {
    return this.#index === undefined ? 0 : this.#index.count;
  }

  /** The address of the cell of `key` in `owner`, whose hash (see CellStore) is given, or 0. */
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

  /** Undefined as long as it has no entry. */
  get index(): HashIndex | undefined {
    return this.#index;
  }

  /** Makes the index fit one more entry; false when there is no memory. */
  makeRoom(): boolean {
    const index = this.#index;
    if (index === undefined) {
      const first = new HashIndex();
      if (!this.#meter.take(first.bytes)) return false;
      this.#index = first;
      return true;
    }
    const bits = index.bitsToInsert;
    if (bits === index.bits) return true;
    const more = HashIndex.bytes(bits) - index.bytes;
    if (bits > INDEX_BITS_MAX || !this.#meter.take(more)) return false;
    this.#resize(index, bits);
    return true;
  }

  /** Adds a cell; makeRoom has been called. */
  insert(hash: number, address: number): void {
    this.#index!.insert(hash, address);
  }

  /** The cell at `from` has moved to `to`. */
  replace(hash: number, from: number, to: number): void {
    const index = this.#index!;
    index.setAddress(index.find(hash, from), to);
  }

  /** Takes the cell out of the index; it dies. */
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

  /** The index's table; undefined without one. */
  get table(): { readonly place: number; readonly bytes: number } | undefined {
    return this.#index === undefined ? undefined : { place: this.#place, bytes: this.#index.bytes };
  }

  /** See HashIndex.walk. */
  walk(from: number, places: number, visitor: Visitor): number {
    return this.#index === undefined ? WALK_END : this.#index.walk(from, places, visitor);
  }

  #shrinkTo(index: HashIndex, bits: number): void {
    if (bits === index.bits) return;
    this.#meter.give(index.bytes - HashIndex.bytes(bits));
    this.#resize(index, bits);
  }

  #resize(index: HashIndex, bits: number): void {
    const { tables } = this.#pool;
    const bytes = HashIndex.bytes(bits);
    const place = tables.take(bytes);
    const old = index.resize(bits, tables.words(place, bytes));
    tables.free(this.#place, old);
    this.#place = place;
  }
}
