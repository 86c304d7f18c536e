/**
 * The order of each queue's items: a ring of addresses by sequence, from `first` to `end`. A ring
 * consists of cells ("parts": the value is a row of addresses) in the log of the queue's partition,
 * so the ring of a queue with one item uses 32 bytes and no object.
 *
 * Up to 512 places a ring is one part, which is copied to grow or shrink. A longer one is a list of
 * parts of 1,024 places each and grows by one part at a time, so that each step is short whatever
 * the length; the list for 50,000,000 items has 48,829 numbers, and is copied in 0.1 ms when it
 * doubles. A part is freed when `first` has passed it.
 */
import assert from 'node:assert/strict';
import { NumberAllocator } from '../../base/number-allocator.ts';
import { KeyWords } from '../key-words.ts';
import { cellBytes, HEADER_WORDS, KIND_RING, writeHead, writeVersion } from './cell.ts';
import type { CellLog } from './cell-log.ts';
import type { CellStore } from './cell-store.ts';
import type { IdColumns } from './id-columns.ts';
import type { PagedDoubles, PagedIntegers } from './paged-array.ts';

const SINGLE_BITS_MAX = 9;
const PART_BITS = 10;
const PART_LENGTH = 2 ** PART_BITS;
const LIST_LENGTH_MIN = 4;
/** Share of used places below which a ring shrinks. */
const SHRINK_SHARE = 1 / 8;
const SHRINK_BITS = 2;

export class RingBuffers {
  readonly #store: CellStore;
  /** By queue: sequences of the first place and of the one after the last. */
  readonly #firsts: PagedDoubles;
  readonly #ends: PagedDoubles;
  /**
   * By queue: 0 for no ring; up to SINGLE_BITS_MAX for one part of 2^bits places; PART_BITS for a
   * list.
   */
  readonly #bits: PagedIntegers;
  /** By queue: the address of the only part, or the list's number. */
  readonly #roots: PagedIntegers;
  /** Addresses of parts by part number, modulo the length, a power of two; 0 for none. */
  readonly #lists: Int32Array<ArrayBuffer>[] = [];
  readonly #listNumbers = new NumberAllocator();

  constructor(store: CellStore, queues: IdColumns) {
    this.#store = store;
    this.#firsts = queues.doubles();
    this.#ends = queues.doubles();
    this.#bits = queues.integers();
    this.#roots = queues.integers();
  }

  /** Returns the sequence of the first place. */
  first(queue: number): number {
    return this.#firsts.get(queue);
  }

  /** Returns the sequence of the next item. */
  end(queue: number): number {
    return this.#ends.get(queue);
  }

  /** Begins a queue without a ring, with the sequence of its first item. */
  begin(queue: number, sequence: number): void {
    this.#firsts.set(queue, sequence);
    this.#ends.set(queue, sequence);
  }

  /**
   * Makes the ring fit one more item. Returns false, and changes nothing, if there is no memory.
   */
  makeRoom(queue: number, log: CellLog): boolean {
    const bits = this.#bits.get(queue);
    const end = this.end(queue);
    if (bits === PART_BITS) return end % PART_LENGTH !== 0 || this.#addPart(queue, log);
    if (bits > 0 && end - this.first(queue) < 1 << bits) return true;
    return bits < SINGLE_BITS_MAX ? this.#copyTo(queue, log, bits + 1) : this.#split(queue, log);
  }

  /** Adds an item; makeRoom must have been called. */
  append(queue: number, address: number): void {
    const sequence = this.end(queue);
    this.#ends.set(queue, sequence + 1);
    this.set(queue, sequence, address);
  }

  /** Returns the address at a sequence from `first` to `end - 1`. */
  get(queue: number, sequence: number): number {
    const { pool } = this.#store;
    const part = this.#part(queue, sequence);
    return pool.words(part)[pool.at(part) + HEADER_WORDS + this.#place(queue, sequence)]!;
  }

  set(queue: number, sequence: number, address: number): void {
    const { pool } = this.#store;
    const part = this.#part(queue, sequence);
    pool.words(part)[pool.at(part) + HEADER_WORDS + this.#place(queue, sequence)] = address;
  }

  /** Removes the first place. */
  dropFirst(queue: number, log: CellLog): void {
    const first = this.first(queue) + 1;
    if (first > this.end(queue)) assert.fail('the ring has no places');
    const count = this.end(queue) - first;
    this.#firsts.set(queue, first);
    const bits = this.#bits.get(queue);
    if (bits === PART_BITS && first % PART_LENGTH === 0) this.#dropPart(queue, first - 1, log);
    if (bits > SHRINK_BITS && count <= (1 << bits) * SHRINK_SHARE) {
      this.#copyTo(queue, log, bits - SHRINK_BITS);
    }
  }

  /**
   * Makes the ring begin at an earlier sequence; the new places are empty. Returns false if there
   * is no memory: then some of the places may have been added.
   */
  extend(queue: number, sequence: number, log: CellLog): boolean {
    for (;;) {
      const bits = this.#bits.get(queue);
      if (bits === PART_BITS || (bits > 0 && this.end(queue) - sequence <= 1 << bits)) break;
      const isSingle = bits < SINGLE_BITS_MAX;
      if (!(isSingle ? this.#copyTo(queue, log, bits + 1) : this.#split(queue, log))) return false;
    }
    while (this.first(queue) > sequence) {
      const place = this.first(queue) - 1;
      if (!this.#hasPart(queue, place) && !this.#insertPart(queue, partNumber(place), log)) {
        return false;
      }
      this.#firsts.set(queue, place);
      this.set(queue, place, 0);
    }
    return true;
  }

  /** Removes the ring with all its places. */
  drop(queue: number, log: CellLog): void {
    this.#dropParts(queue, log);
    this.#bits.set(queue, 0);
  }

  /** Updates the address of a part that has been moved. */
  moved(queue: number, number: number, address: number): void {
    const root = this.#roots.get(queue);
    if (this.#bits.get(queue) !== PART_BITS) {
      this.#roots.set(queue, address);
      return;
    }
    const list = this.#lists[root]!;
    list[number & (list.length - 1)] = address;
  }

  /** Size of the lists of parts, in bytes. */
  get listBytes(): number {
    return this.#lists.reduce((sum, list) => sum + list.byteLength, 0);
  }

  /**
   * Asserts that the queue's places fit its parts, and that a list has no other part. Calls `each`
   * with the address and the number of each part. O(parts).
   */
  invariants(queue: number, each: (part: number, number: number) => void): void {
    const bits = this.#bits.get(queue);
    const first = this.first(queue);
    const end = this.end(queue);
    const root = this.#roots.get(queue);
    assert.ok(first <= end, 'places of a ring');
    if (bits < PART_BITS) {
      assert.ok(bits <= SINGLE_BITS_MAX && end - first <= (bits === 0 ? 0 : 1 << bits), 'one part');
      if (bits > 0) each(root, 0);
      return;
    }
    assert.ok(this.#listNumbers.isUsed(root), 'a list in use');
    const list = this.#lists[root]!;
    let last = partNumber(end - 1);
    for (let number = partNumber(first); number <= last; number++) {
      const part = list[number & (list.length - 1)]!;
      assert.notEqual(part, 0, 'a part of a list');
      each(part, number);
    }
    // The next part exists as soon as room was made for its first item.
    const next = list[(last + 1) & (list.length - 1)]!;
    if (last - partNumber(first) + 1 < list.length && next !== 0) each(next, ++last);
    const count = list.filter((address) => address !== 0).length;
    assert.equal(count, last - partNumber(first) + 1, 'parts of a list');
  }

  /** Returns the address of the part that contains the sequence, or 0. */
  #part(queue: number, sequence: number): number {
    const root = this.#roots.get(queue);
    if (this.#bits.get(queue) !== PART_BITS) return root;
    const list = this.#lists[root]!;
    return list[partNumber(sequence) & (list.length - 1)]!;
  }

  #place(queue: number, sequence: number): number {
    return sequence & ((1 << this.#bits.get(queue)) - 1);
  }

  /**
   * Moves the places, which must fit, into one part of another length. Returns false if there is no
   * memory.
   */
  #copyTo(queue: number, log: CellLog, bits: number): boolean {
    const part = this.#allocate(queue, log, 0, 1 << bits);
    if (part === 0) return false;
    const { pool } = this.#store;
    const words = pool.words(part);
    const at = pool.at(part) + HEADER_WORDS;
    const end = this.end(queue);
    for (let sequence = this.first(queue); sequence < end; sequence++) {
      words[at + (sequence & ((1 << bits) - 1))] = this.get(queue, sequence);
    }
    this.#dropParts(queue, log);
    this.#roots.set(queue, part);
    this.#bits.set(queue, bits);
    return true;
  }

  /** Converts one full part to a list. */
  #split(queue: number, log: CellLog): boolean {
    const first = this.first(queue);
    const end = this.end(queue);
    const list = new Int32Array(LIST_LENGTH_MIN);
    if (!this.#store.meter.allocate(list.byteLength)) return false;
    for (let number = partNumber(first); number <= partNumber(end); number++) {
      const part = this.#allocate(queue, log, number, PART_LENGTH);
      list[number & (LIST_LENGTH_MIN - 1)] = part;
      if (part !== 0) continue;
      for (const address of list) if (address !== 0) log.kill(address);
      this.#store.meter.free(list.byteLength);
      return false;
    }
    const { pool } = this.#store;
    for (let sequence = first; sequence < end; sequence++) {
      const part = list[partNumber(sequence) & (LIST_LENGTH_MIN - 1)]!;
      const place = sequence & (PART_LENGTH - 1);
      pool.words(part)[pool.at(part) + HEADER_WORDS + place] = this.get(queue, sequence);
    }
    this.#dropParts(queue, log);
    const root = this.#listNumbers.allocate();
    this.#lists[root] = list;
    this.#roots.set(queue, root);
    this.#bits.set(queue, PART_BITS);
    return true;
  }

  /** Adds the part that begins with the next item, unless it exists. */
  #addPart(queue: number, log: CellLog): boolean {
    return this.#insertPart(queue, partNumber(this.end(queue)), log);
  }

  #hasPart(queue: number, sequence: number): boolean {
    return partNumber(sequence) === partNumber(sequence + 1) || this.#bits.get(queue) < PART_BITS;
  }

  /** Adds a part right after the last one or before the first, unless it exists. */
  #insertPart(queue: number, number: number, log: CellLog): boolean {
    const root = this.#roots.get(queue);
    const first = partNumber(this.first(queue));
    // The next item's part may already exist.
    const last = partNumber(this.end(queue));
    let list = this.#lists[root]!;
    if (last - Math.min(first, number) >= list.length) {
      if (!this.#store.meter.allocate(list.byteLength)) return false;
      list = relisted(list, first);
      this.#lists[root] = list;
    }
    const place = number & (list.length - 1);
    if (list[place] === 0) list[place] = this.#allocate(queue, log, number, PART_LENGTH);
    return list[place] !== 0;
  }

  #dropPart(queue: number, sequence: number, log: CellLog): void {
    const list = this.#lists[this.#roots.get(queue)]!;
    const place = partNumber(sequence) & (list.length - 1);
    log.kill(list[place]!);
    list[place] = 0;
  }

  #dropParts(queue: number, log: CellLog): void {
    const bits = this.#bits.get(queue);
    const root = this.#roots.get(queue);
    if (bits === 0) return;
    if (bits < PART_BITS) {
      log.kill(root);
      return;
    }
    const list = this.#lists[root]!;
    for (const address of list) if (address !== 0) log.kill(address);
    this.#store.meter.free(list.byteLength);
    this.#lists[root] = NO_LIST;
    this.#listNumbers.free(root);
  }

  #allocate(queue: number, log: CellLog, number: number, length: number): number {
    const address = log.allocate(cellBytes(KIND_RING, 0, length * 4), false);
    if (address === 0) return 0;
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    writeHead(words, at, KIND_RING, queue, number | 0, NO_KEY, length * 4);
    writeVersion(words, at, 0, 0);
    return address;
  }
}

const NO_KEY = new KeyWords();
const NO_LIST = new Int32Array(0);

function partNumber(sequence: number): number {
  return Math.floor(sequence / PART_LENGTH);
}

/**
 * Returns a list of twice the length with the same parts; `first` is the number of the first part.
 */
function relisted(list: Int32Array<ArrayBuffer>, first: number): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(list.length * 2);
  for (let number = first; number < first + list.length; number++) {
    longer[number & (longer.length - 1)] = list[number & (list.length - 1)]!;
  }
  return longer;
}
