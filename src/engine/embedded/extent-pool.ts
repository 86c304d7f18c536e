/**
 * The memory of cells, outside the JavaScript heap. Extents of 64 KiB, each owned by one partition
 * while in use, are allocated from slabs of 32 MiB (slabs.ts). A cell of 256 KiB to 16 MiB has as
 * many consecutive extents as it needs. Other cells that are too long for an extent have a buffer
 * of their own, exactly as large as needed. Tables of indexes also use extents (index-tables.ts).
 *
 * An address is 32 bits: slab << 22 | offset in units of 8 bytes, so slabs reach almost 32 GiB; the
 * last 2^24 addresses represent long cells by number. 0 is no address: extent 0 is never allocated.
 * Addresses are signed, as in typed arrays of words.
 *
 * While freed memory is retained, it is not allocated again: the bytes that a result refers to
 * remain unchanged until its receiver returns, whatever the receiver does to the engine meanwhile.
 * A cell remains while it is pinned. Memory is reused with its stale bytes: its new owner writes
 * every byte that is ever read.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../base/clock.ts';
import { copyWords } from '../../base/copy-bytes.ts';
import { growArray } from '../../base/grow-array.ts';
import { NumberAllocator } from '../../base/number-allocator.ts';
import { NO_BYTES } from '../../base/span.ts';
import { IndexTables } from './index-tables.ts';
import type { MemoryMeter } from './memory-meter.ts';
import {
  EXTENT_BYTES,
  EXTENTS_PER_SLAB,
  NO_WORDS,
  ROW_BYTES_MAX,
  SLAB_BYTES,
  Slabs,
} from './slabs.ts';

export const UNIT_BYTES = 8;
/**
 * Length in bytes above which a cell shares no extent with others, so that the unused end of an
 * extent is small.
 */
export const CELL_SHARED_BYTES_MAX = 16384;

const EXTENT_BITS = 13;
const SLAB_BITS = 31 - Math.clz32(SLAB_BYTES / UNIT_BYTES);
const OFFSET_MASK = 2 ** SLAB_BITS - 1;
/**
 * Length in bytes from which a cell has consecutive extents: at most a fifth of them is unused, and
 * free rows can still be found.
 */
const ROW_BYTES_MIN = EXTENT_BYTES * 4;
/** Upper eight bits of the addresses of long cells. */
const LONG_TAG = 255;
const LONG_MASK = 2 ** 24 - 1;
const SLABS_MAX = LONG_TAG << (24 - SLAB_BITS);

export class ExtentPool {
  readonly meter: MemoryMeter;
  /** The memory of indexes; the caller accounts for it. */
  readonly tables: IndexTables;
  readonly #slabs: Slabs;
  /** The words of each slab. */
  readonly #slabWords: readonly Int32Array<ArrayBuffer>[];
  readonly #slabBytes: readonly Buffer[];
  /**
   * Per extent: bytes of live cells, bytes written, and the links of its owner's list. See CellLog.
   */
  live = new Int32Array(64);
  used = new Int32Array(64);
  next = new Int32Array(64);
  previous = new Int32Array(64);
  /** Per long cell: views, pins, and the first of its extents, 0 for a buffer of its own. */
  readonly #longWords: Int32Array<ArrayBuffer>[] = [];
  readonly #longBytes: Buffer[] = [];
  #longPins = new Int32Array(16);
  #longRows = new Int32Array(16);
  /** 1: freed, but pinned or retained. */
  #longDead = new Uint8Array(16);
  readonly #longNumbers = new NumberAllocator();
  #retainCount = 0;
  /** Freed and retained memory: extents, and long cells as negative numbers. */
  readonly #retained: number[] = [];

  /** `stockBytes`: bytes requested from the system ahead of their use. */
  constructor(meter: MemoryMeter, clock: Clock, stockBytes = 0) {
    this.meter = meter;
    this.#slabs = new Slabs(clock, SLABS_MAX, stockBytes);
    this.tables = new IndexTables(this.#slabs);
    this.#slabWords = this.#slabs.words;
    this.#slabBytes = this.#slabs.bytes;
  }

  /** Number of slabs, in use or not. */
  get slabCount(): number {
    return this.#slabs.count;
  }

  /** Whether an engine is being filled. */
  set isFilling(isFilling: boolean) {
    this.#slabs.isFilling = isFilling;
    if (isFilling) this.meter.fill();
    else this.meter.serve();
  }

  /** The extents from this one on are to be emptied; Infinity for none. */
  get evacuateFrom(): number {
    return this.#slabs.evacuateFrom;
  }

  /**
   * Returns the words of the buffer that contains the address; `at` returns the index of its first
   * word.
   */
  words(address: number): Int32Array {
    return address >>> 24 === LONG_TAG
      ? this.#longWords[address & LONG_MASK]!
      : this.#slabWords[address >>> SLAB_BITS]!;
  }

  at(address: number): number {
    return address >>> 24 === LONG_TAG ? 0 : (address & OFFSET_MASK) << 1;
  }

  /** Returns the bytes of the buffer that contains the address. */
  bytes(address: number): Buffer {
    return address >>> 24 === LONG_TAG
      ? this.#longBytes[address & LONG_MASK]!
      : this.#slabBytes[address >>> SLAB_BITS]!;
  }

  /** Returns the extent that contains the address, or 0 for a long cell. */
  extent(address: number): number {
    return address >>> 24 === LONG_TAG ? 0 : address >>> EXTENT_BITS;
  }

  /** Returns the address of the byte at `offset` (a multiple of 8) of an extent. */
  address(extent: number, offset: number): number {
    return (extent << EXTENT_BITS) | (offset / UNIT_BYTES) | 0;
  }

  /** Copies `length` bytes, a whole cell, within the slabs. */
  copy(from: number, to: number, length: number): void {
    copyWords(this.words(to), this.at(to), this.words(from), this.at(from), length / 4);
  }

  /**
   * Whether the bytes at the address may be overwritten: no result refers to them and they are not
   * pinned.
   */
  writable(address: number): boolean {
    if (this.#retainCount > 0) return false;
    return address >>> 24 !== LONG_TAG || this.#longPins[address & LONG_MASK] === 0;
  }

  /** Allocates an extent; 0 if there is no memory. `spare`: may also use the reserved memory. */
  allocateExtent(spare: boolean): number {
    const room = spare
      ? this.meter.allocateReserved(EXTENT_BYTES)
      : this.meter.allocate(EXTENT_BYTES);
    if (!room) return 0;
    const extent = this.#slabs.allocate();
    if (extent === 0) {
      this.meter.free(EXTENT_BYTES);
      return 0;
    }
    this.live = growArray(this.live, extent + 1);
    this.used = growArray(this.used, extent + 1);
    this.next = growArray(this.next, extent + 1);
    this.previous = growArray(this.previous, extent + 1);
    this.live[extent] = 0;
    this.used[extent] = 0;
    return extent;
  }

  freeExtent(extent: number): void {
    this.meter.free(EXTENT_BYTES);
    if (this.#retainCount > 0) this.#retained.push(extent);
    else this.#slabs.free(extent);
  }

  /** Returns the address of `length` bytes (a multiple of 8) that no other cell shares, or 0. */
  allocateLong(length: number): number {
    if (this.#longNumbers.count > LONG_MASK) return 0;
    const isRow = length >= ROW_BYTES_MIN && length <= ROW_BYTES_MAX;
    const taken = isRow ? extentsOf(length) * EXTENT_BYTES : length;
    if (!this.meter.allocate(taken)) return 0;
    const row = isRow ? this.#slabs.allocateRow(extentsOf(length)) : 0;
    if (isRow && row === 0) {
      this.meter.free(taken);
      return 0;
    }
    const slab = Math.floor(row / EXTENTS_PER_SLAB);
    const { buffer } = isRow ? this.#slabWords[slab]! : Buffer.allocUnsafeSlow(length);
    const at = (row % EXTENTS_PER_SLAB) * EXTENT_BYTES;
    const number = this.#longNumbers.allocate();
    this.#longPins = growArray(this.#longPins, number + 1);
    this.#longRows = growArray(this.#longRows, number + 1);
    this.#longDead = growArray(this.#longDead, number + 1);
    this.#longRows[number] = row;
    this.#longBytes[number] = Buffer.from(buffer, at, length);
    this.#longWords[number] = new Int32Array(buffer as ArrayBuffer, at, length / 4);
    return (LONG_TAG << 24) | number;
  }

  freeLong(address: number): void {
    const number = address & LONG_MASK;
    if (this.#longDead[number] !== 0) assert.fail('the long cell is already freed');
    this.#longDead[number] = 1;
    this.#reuseLong(number);
  }

  /**
   * Keeps a long cell's buffer in place, and accounted for, until unpin has been called as often.
   */
  pin(address: number): void {
    this.#longPins[address & LONG_MASK]!++;
  }

  unpin(address: number): void {
    const number = address & LONG_MASK;
    if (this.#longPins[number] === 0) assert.fail('the cell is not pinned');
    this.#longPins[number]!--;
    this.#reuseLong(number);
  }

  /** Retains freed memory until reuseFreed has been called as often. */
  retainFreed(): void {
    this.#retainCount++;
  }

  reuseFreed(): void {
    if (this.#retainCount === 0) assert.fail('freed memory is not retained');
    this.#retainCount--;
    if (this.#retainCount === 0 && this.#retained.length > 0) this.#reuseRetained();
  }

  /** Frees a buffer that is no longer used and is not accounted for in the pool. */
  drop(buffer: ArrayBuffer): void {
    this.#slabs.drop(buffer);
  }

  /** Stops the release of memory to the system. */
  close(): void {
    this.#slabs.close();
  }

  /**
   * Asserts that the extents in use are exactly the given ones (of logs and tables), those of long
   * cells, and those that are freed and retained; and that the long cells are those with the given
   * addresses. Returns the bytes of long cells, including those that are only pinned. O(extents).
   */
  invariants(extents: Set<number>, long: ReadonlySet<number>): number {
    let bytes = 0;
    this.#longNumbers.invariants();
    for (let number = 0; number < this.#longWords.length; number++) {
      const { byteLength } = this.#longWords[number]!;
      const isUsed = this.#longNumbers.isUsed(number);
      assert.equal(byteLength > 0, isUsed, 'a number without a cell');
      assert.ok(this.#longPins[number]! >= 0, 'pins of a long cell');
      const row = isUsed ? this.#longRows[number]! : 0;
      const count = row === 0 ? 0 : extentsOf(byteLength);
      bytes += row === 0 ? byteLength : count * EXTENT_BYTES;
      for (let extent = row; extent < row + count; extent++) addOnce(extents, extent);
      const isDead = this.#longDead[number] === 1;
      const isReferredTo = long.has((LONG_TAG << 24) | number);
      assert.equal(isReferredTo, isUsed && !isDead, 'a reference to a long cell');
      if (isDead)
        assert.ok(
          this.#longPins[number]! > 0 || this.#retainCount > 0,
          'a dead cell is pinned or retained',
        );
    }
    if (this.#retainCount === 0) assert.equal(this.#retained.length, 0, 'retained freed memory');
    for (const entry of this.#retained) if (entry > 0) addOnce(extents, entry);
    const taken = this.#slabs.invariants();
    assert.equal(taken.size, extents.size, 'extents in use');
    for (const extent of extents) assert.ok(taken.has(extent), 'an extent that is not free');
    return bytes;
  }

  #reuseRetained(): void {
    for (const entry of this.#retained) {
      if (entry > 0) this.#slabs.free(entry);
      else this.#reuseLong(-entry - 1);
    }
    this.#retained.length = 0;
  }

  #reuseLong(number: number): void {
    if (this.#longDead[number] === 0 || this.#longPins[number]! > 0) return;
    if (this.#retainCount > 0) {
      this.#retained.push(-number - 1);
      return;
    }
    const { buffer, byteLength } = this.#longWords[number]!;
    const row = this.#longRows[number]!;
    this.#longDead[number] = 0;
    this.#longBytes[number] = NO_BYTES;
    this.#longWords[number] = NO_WORDS;
    this.#longNumbers.free(number);
    if (row === 0) {
      this.meter.free(byteLength);
      this.#slabs.drop(buffer);
      return;
    }
    const count = extentsOf(byteLength);
    this.meter.free(count * EXTENT_BYTES);
    for (let extent = row; extent < row + count; extent++) this.#slabs.free(extent);
  }
}

function extentsOf(length: number): number {
  return Math.ceil(length / EXTENT_BYTES);
}

function addOnce(extents: Set<number>, extent: number): void {
  assert.ok(!extents.has(extent), `extent ${extent} has one owner`);
  extents.add(extent);
}
