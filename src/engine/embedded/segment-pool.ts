/**
 * The memory that records live in, outside the JavaScript heap. Segments of 64 KiB, each owned by
 * one partition while in use, are quarters of slabs: a slab is a buffer of 256 KiB, the size in which
 * memory can go back to the system (quarters, because with 271 partitions a whole slab each for the
 * records being written would cost 71 MB; the lowest free one goes first, so that slabs fall empty).
 * A record too long for a segment has a buffer of its own, exactly as large as needed.
 *
 * An address is 32 bits: slab << 15 | offset in units of 8 bytes, so slabs reach almost 32 GiB; the
 * last 2^24 addresses stand for the buffers of long records. 0 is no address: segment 0 is never
 * handed out. Addresses are signed, as typed arrays of words hold them.
 *
 * While the pool is held, what is freed is not handed out again: the bytes that an answer names stay
 * as they are until its receiver returns, whatever the receiver does to the engine meanwhile. A
 * pinned buffer stays as long as it is pinned. Memory is used again as it is, stale bytes included:
 * whoever takes some writes all of it that is ever read.
 */
import { grown } from '../../base/grown.ts';
import type { MemoryMeter } from './memory-meter.ts';

export const SEGMENT_BYTES = 65536;
export const UNIT_BYTES = 8;
/** Records longer than this have a buffer of their own, so a segment's unused end stays small. */
export const RECORD_SHARED_BYTES_MAX = 16384;

/** Longer records are copied as bytes: a view costs about what 200 bytes in words do. */
const COPY_WORDS_BYTES_MAX = 256;

const SEGMENT_BITS = 13;
const SLAB_BITS = 15;
const OFFSET_MASK = 2 ** SLAB_BITS - 1;
const SLAB_BYTES = 2 ** SLAB_BITS * UNIT_BYTES;
const SEGMENTS_PER_SLAB = SLAB_BYTES / SEGMENT_BYTES;
const ALL_FREE = 2 ** SEGMENTS_PER_SLAB - 1;
/** Upper eight bits of the addresses of long records. */
const LONG_TAG = 255;
const LONG_MASK = 2 ** 24 - 1;
const SLABS_MAX = LONG_TAG << (24 - SLAB_BITS);

export class SegmentPool {
  readonly #meter: MemoryMeter;
  /** Of each slab. */
  readonly #slabWords: Int32Array[] = [];
  readonly #slabBytes: Buffer[] = [];
  /** Which segments of each slab are free, a bit each. */
  #slabFree = new Int32Array(16);
  /** No slab below this one has a free segment. */
  #lowestFree = 0;
  /** Of each segment: bytes of records that count, bytes written, owner's list. See RecordLog. */
  live = new Int32Array(64);
  used = new Int32Array(64);
  next = new Int32Array(64);
  previous = new Int32Array(64);
  /** Of each long record's buffer. */
  readonly #longWords: Int32Array[] = [];
  readonly #longBytes: Buffer[] = [];
  #longPins = new Int32Array(16);
  /** 1: freed, but pinned or held. */
  #longDead = new Uint8Array(16);
  readonly #longFree: number[] = [];
  #holds = 0;
  /** Freed while held: segments, and long records as negative addresses. */
  readonly #limbo: number[] = [];

  constructor(meter: MemoryMeter) {
    this.#meter = meter;
  }

  /** Slabs that exist, in use or not. */
  get slabCount(): number {
    return this.#slabWords.length;
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

  /** The bytes that `words` are. */
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

  /** Whether the bytes there may be overwritten: no answer names them and nobody has them pinned. */
  writable(address: number): boolean {
    if (this.#holds > 0) return false;
    return address >>> 24 !== LONG_TAG || this.#longPins[address & LONG_MASK] === 0;
  }

  /** A free segment, or 0 when there is no memory. `spare`: also of what is kept back. */
  takeSegment(spare: boolean): number {
    const room = spare ? this.#meter.takeSpare(SEGMENT_BYTES) : this.#meter.take(SEGMENT_BYTES);
    if (!room) return 0;
    while (this.#lowestFree < this.slabCount && this.#slabFree[this.#lowestFree] === 0) {
      this.#lowestFree++;
    }
    const slab = this.#lowestFree;
    if (slab === this.slabCount && !this.#addSlab()) {
      this.#meter.give(SEGMENT_BYTES);
      return 0;
    }
    const free = this.#slabFree[slab]!;
    const quarter = 31 - Math.clz32(free & -free);
    this.#slabFree[slab] = free & (free - 1);
    const segment = slab * SEGMENTS_PER_SLAB + quarter;
    this.live[segment] = 0;
    this.used[segment] = 0;
    return segment;
  }

  freeSegment(segment: number): void {
    this.#meter.give(SEGMENT_BYTES);
    if (this.#holds > 0) this.#limbo.push(segment);
    else this.#reuseSegment(segment);
  }

  /** The address of a new buffer of `length` bytes (a multiple of 8), or 0. */
  takeLong(length: number): number {
    const reused = this.#longFree.length > 0;
    if (!reused && this.#longWords.length > LONG_MASK) return 0;
    if (!this.#meter.take(length)) return 0;
    const bytes = Buffer.allocUnsafeSlow(length);
    const number = reused ? this.#longFree.pop()! : this.#longWords.length;
    this.#longPins = grown(this.#longPins, number + 1);
    this.#longDead = grown(this.#longDead, number + 1);
    this.#longBytes[number] = bytes;
    this.#longWords[number] = new Int32Array(bytes.buffer, bytes.byteOffset, length / 4);
    return (LONG_TAG << 24) | number;
  }

  freeLong(address: number): void {
    const number = address & LONG_MASK;
    this.#longDead[number] = 1;
    this.#reuseLong(number);
  }

  /** Keeps a long record's buffer in place, and accounted for, until unpinned as often. */
  pin(address: number): void {
    this.#longPins[address & LONG_MASK]!++;
  }

  unpin(address: number): void {
    const number = address & LONG_MASK;
    this.#longPins[number]!--;
    this.#reuseLong(number);
  }

  /** Until letGo is called as often, nothing that is freed is used again. */
  hold(): void {
    this.#holds++;
  }

  letGo(): void {
    this.#holds--;
    if (this.#holds === 0 && this.#limbo.length > 0) this.#emptyLimbo();
  }

  #emptyLimbo(): void {
    for (const entry of this.#limbo) {
      if (entry > 0) this.#reuseSegment(entry);
      else this.#reuseLong(-entry - 1);
    }
    this.#limbo.length = 0;
  }

  #reuseSegment(segment: number): void {
    const slab = Math.floor(segment / SEGMENTS_PER_SLAB);
    this.#slabFree[slab]! |= 1 << (segment % SEGMENTS_PER_SLAB);
    if (slab < this.#lowestFree) this.#lowestFree = slab;
  }

  #reuseLong(number: number): void {
    if (this.#longDead[number] === 0 || this.#longPins[number]! > 0) return;
    if (this.#holds > 0) {
      this.#limbo.push(-number - 1);
      return;
    }
    this.#meter.give(this.#longBytes[number]!.length);
    this.#longDead[number] = 0;
    this.#longBytes[number] = NOTHING;
    this.#longWords[number] = NO_WORDS;
    this.#longFree.push(number);
  }

  #addSlab(): boolean {
    const slab = this.slabCount;
    if (slab === SLABS_MAX) return false;
    const buffer = new ArrayBuffer(SLAB_BYTES);
    this.#slabWords.push(new Int32Array(buffer));
    this.#slabBytes.push(Buffer.from(buffer));
    this.#slabFree = grown(this.#slabFree, slab + 1);
    this.#slabFree[slab] = slab === 0 ? ALL_FREE - 1 : ALL_FREE;
    const count = (slab + 1) * SEGMENTS_PER_SLAB;
    this.live = grown(this.live, count);
    this.used = grown(this.used, count);
    this.next = grown(this.next, count);
    this.previous = grown(this.previous, count);
    return true;
  }
}

const NOTHING = Buffer.alloc(0);
const NO_WORDS = new Int32Array(0);
