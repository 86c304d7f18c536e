/**
 * The memory of records, outside the JavaScript heap. Segments of 64 KiB, each owned by one partition
 * while in use, are cut from slabs of 32 MiB (slabs.ts). A record of 256 KiB to 16 MiB has as many
 * segments in a row as it needs. Others that are too long for a segment have a buffer of their own,
 * exactly as large as needed. Tables of indexes have segments, too (index-tables.ts).
 *
 * An address is 32 bits: slab << 22 | offset in units of 8 bytes, so slabs reach almost 32 GiB; the
 * last 2^24 addresses stand for long records by number. 0 is no address: segment 0 is never handed out.
 * Addresses are signed, as in typed arrays of words.
 *
 * While the pool is held, freed memory is not handed out again: the bytes that an answer names stay as
 * they are until its receiver returns, whatever the receiver does to the engine meanwhile. A pinned
 * record stays as long as it is pinned. Memory is reused with its stale bytes: its new owner writes all
 * of it that is ever read.
 */
import type { Clock } from '../../base/clock.ts';
import { grown } from '../../base/grown.ts';
import { IndexTables } from './index-tables.ts';
import type { MemoryMeter } from './memory-meter.ts';
import { SEGMENT_BYTES, SEGMENTS_PER_SLAB, SLAB_BYTES, Slabs } from './slabs.ts';

export const UNIT_BYTES = 8;
/** Longer records share no segment with others, so a segment's unused end stays small. */
export const RECORD_SHARED_BYTES_MAX = 16384;

/** Longer records are copied as bytes: the cost of a view is about that of 200 bytes in words. */
const COPY_WORDS_BYTES_MAX = 256;

const SEGMENT_BITS = 13;
const SLAB_BITS = 22;
const OFFSET_MASK = 2 ** SLAB_BITS - 1;
/** Records from this on have segments in a row: at most a fifth of their last is lost, rows are found. */
const ROW_BYTES_MIN = SEGMENT_BYTES * 4;
const ROW_BYTES_MAX = SLAB_BYTES / 2;
/** Upper eight bits of the addresses of long records. */
const LONG_TAG = 255;
const LONG_MASK = 2 ** 24 - 1;
const SLABS_MAX = LONG_TAG << (24 - SLAB_BITS);

export class SegmentPool {
  readonly meter: MemoryMeter;
  /** The memory of indexes; the caller accounts for it. */
  readonly tables: IndexTables;
  readonly #slabs: Slabs;
  /** The words of each slab. */
  readonly #slabWords: readonly Int32Array<ArrayBuffer>[];
  readonly #slabBytes: readonly Buffer[];
  /** Of each segment: bytes of records that count, bytes written, owner's list. See RecordLog. */
  live = new Int32Array(64);
  used = new Int32Array(64);
  next = new Int32Array(64);
  previous = new Int32Array(64);
  /** Of each long record: views, pins, and the first of its segments, 0 for a buffer of its own. */
  readonly #longWords: Int32Array<ArrayBuffer>[] = [];
  readonly #longBytes: Buffer[] = [];
  #longPins = new Int32Array(16);
  #longRows = new Int32Array(16);
  /** 1: freed, but pinned or held. */
  #longDead = new Uint8Array(16);
  readonly #longFree: number[] = [];
  #holds = 0;
  /** Freed while held: segments, and long records as negative addresses. */
  readonly #limbo: number[] = [];

  /** `reservedBytes`: bytes asked of the system ahead of their use. */
  constructor(meter: MemoryMeter, clock: Clock, reservedBytes = 0) {
    this.meter = meter;
    this.#slabs = new Slabs(clock, SLABS_MAX, Math.floor(reservedBytes / SLAB_BYTES));
    this.tables = new IndexTables(this.#slabs);
    this.#slabWords = this.#slabs.words;
    this.#slabBytes = this.#slabs.bytes;
  }

  /** Slabs that exist, in use or not. */
  get slabCount(): number {
    return this.#slabs.count;
  }

  /** Whether an engine is being filled. */
  set isFilling(isFilling: boolean) {
    this.#slabs.isFilling = isFilling;
    if (isFilling) this.meter.fill();
    else this.meter.serve();
  }

  /** Whether the memory handed out now has been written before. */
  get isTouched(): boolean {
    return this.#slabs.isTouched;
  }

  /** Segments from this one on are to be emptied; Infinity for none. */
  get evacuateFrom(): number {
    return this.#slabs.evacuateFrom;
  }

  /** The words of the buffer that the address is in, and `at`: the first one's index. */
  words(address: number): Int32Array {
    return address >>> 24 === LONG_TAG
      ? this.#longWords[address & LONG_MASK]!
      : this.#slabWords[address >>> SLAB_BITS]!;
  }

  at(address: number): number {
    return address >>> 24 === LONG_TAG ? 0 : (address & OFFSET_MASK) << 1;
  }

  /** The same memory as bytes. */
  bytes(address: number): Buffer {
    return address >>> 24 === LONG_TAG
      ? this.#longBytes[address & LONG_MASK]!
      : this.#slabBytes[address >>> SLAB_BITS]!;
  }

  /** The segment that the address is in, or 0 for a long record. */
  segment(address: number): number {
    return address >>> 24 === LONG_TAG ? 0 : address >>> SEGMENT_BITS;
  }

  /** Address of the byte `offset` (a multiple of 8) of a segment. */
  address(segment: number, offset: number): number {
    return (segment << SEGMENT_BITS) | (offset / UNIT_BYTES) | 0;
  }

  /** Copies `length` bytes, a whole record, within the slabs. */
  copy(from: number, to: number, length: number): void {
    const words = this.words(from);
    const at = this.at(from);
    const target = this.words(to);
    const targetAt = this.at(to);
    const count = length / 4;
    if (length > COPY_WORDS_BYTES_MAX) {
      target.set(words.subarray(at, at + count), targetAt);
      return;
    }
    for (let index = 0; index < count; index++) target[targetAt + index] = words[at + index]!;
  }

  /** Whether the bytes there may be overwritten: no answer names them and they are not pinned. */
  writable(address: number): boolean {
    if (this.#holds > 0) return false;
    return address >>> 24 !== LONG_TAG || this.#longPins[address & LONG_MASK] === 0;
  }

  /** A free segment, or 0 when there is no memory. `spare`: also from the memory kept back. */
  takeSegment(spare: boolean): number {
    const room = spare ? this.meter.takeSpare(SEGMENT_BYTES) : this.meter.take(SEGMENT_BYTES);
    if (!room) return 0;
    const segment = this.#slabs.take();
    if (segment === 0) {
      this.meter.give(SEGMENT_BYTES);
      return 0;
    }
    this.live = grown(this.live, segment + 1);
    this.used = grown(this.used, segment + 1);
    this.next = grown(this.next, segment + 1);
    this.previous = grown(this.previous, segment + 1);
    this.live[segment] = 0;
    this.used[segment] = 0;
    return segment;
  }

  freeSegment(segment: number): void {
    this.meter.give(SEGMENT_BYTES);
    if (this.#holds > 0) this.#limbo.push(segment);
    else this.#slabs.free(segment);
  }

  /** The address of `length` bytes (a multiple of 8) that no other record shares, or 0. */
  takeLong(length: number): number {
    const reused = this.#longFree.length > 0;
    if (!reused && this.#longWords.length > LONG_MASK) return 0;
    const isRow = length >= ROW_BYTES_MIN && length <= ROW_BYTES_MAX;
    const taken = isRow ? segmentsOf(length) * SEGMENT_BYTES : length;
    if (!this.meter.take(taken)) return 0;
    const row = isRow ? this.#slabs.takeRow(segmentsOf(length)) : 0;
    if (isRow && row === 0) {
      this.meter.give(taken);
      return 0;
    }
    const slab = Math.floor(row / SEGMENTS_PER_SLAB);
    const { buffer } = isRow ? this.#slabWords[slab]! : Buffer.allocUnsafeSlow(length);
    const at = (row % SEGMENTS_PER_SLAB) * SEGMENT_BYTES;
    const number = reused ? this.#longFree.pop()! : this.#longWords.length;
    this.#longPins = grown(this.#longPins, number + 1);
    this.#longRows = grown(this.#longRows, number + 1);
    this.#longDead = grown(this.#longDead, number + 1);
    this.#longRows[number] = row;
    this.#longBytes[number] = Buffer.from(buffer, at, length);
    this.#longWords[number] = new Int32Array(buffer as ArrayBuffer, at, length / 4);
    return (LONG_TAG << 24) | number;
  }

  freeLong(address: number): void {
    const number = address & LONG_MASK;
    this.#longDead[number] = 1;
    this.#reuseLong(number);
  }

  /** Keeps a long record's buffer in place, and accounted for, until as many calls of unpin. */
  pin(address: number): void {
    this.#longPins[address & LONG_MASK]!++;
  }

  unpin(address: number): void {
    const number = address & LONG_MASK;
    this.#longPins[number]!--;
    this.#reuseLong(number);
  }

  /** Until as many calls of letGo, freed memory is not reused. */
  hold(): void {
    this.#holds++;
  }

  letGo(): void {
    this.#holds--;
    if (this.#holds === 0 && this.#limbo.length > 0) this.#emptyLimbo();
  }

  /** Gives back a buffer that is no longer used, and that is not accounted for here. */
  drop(buffer: ArrayBuffer): void {
    this.#slabs.drop(buffer);
  }

  /** Nothing is given back any more. */
  close(): void {
    this.#slabs.close();
  }

  #emptyLimbo(): void {
    for (const entry of this.#limbo) {
      if (entry > 0) this.#slabs.free(entry);
      else this.#reuseLong(-entry - 1);
    }
    this.#limbo.length = 0;
  }

  #reuseLong(number: number): void {
    if (this.#longDead[number] === 0 || this.#longPins[number]! > 0) return;
    if (this.#holds > 0) {
      this.#limbo.push(-number - 1);
      return;
    }
    const { buffer, byteLength } = this.#longWords[number]!;
    const row = this.#longRows[number]!;
    this.#longDead[number] = 0;
    this.#longBytes[number] = NOTHING;
    this.#longWords[number] = NO_WORDS;
    this.#longFree.push(number);
    if (row === 0) {
      this.meter.give(byteLength);
      this.#slabs.drop(buffer);
      return;
    }
    const count = segmentsOf(byteLength);
    this.meter.give(count * SEGMENT_BYTES);
    for (let segment = row; segment < row + count; segment++) this.#slabs.free(segment);
  }
}

function segmentsOf(length: number): number {
  return Math.ceil(length / SEGMENT_BYTES);
}

const NOTHING = Buffer.alloc(0);
const NO_WORDS = new Int32Array(0);
