/**
 * The memory that records live in, outside the JavaScript heap. Segments of 64 KiB, each owned by
 * one partition while in use, are cut from slabs of 32 MiB; the lowest free one goes first, so that
 * slabs fall empty. A record too long for a segment has a buffer of its own, exactly as large as
 * needed.
 *
 * Where more than one and a half slabs are free all together, the highest one is to be emptied:
 * `evacuateFrom` says so to the logs, whose cleaner then moves what is in it (record-log.ts).
 *
 * A slab that has been empty for a second goes back to the system (handback.ts), one at a time, and
 * so do other buffers, of long records and indexes, several at once. Slabs are that large because glibc raises the size
 * from which it maps memory, up to 32 MiB, whenever it frees a mapped block: slabs of 256 KiB or
 * 1 MiB came back once, and from the second time on went to its heap and stayed resident (0.5 GiB
 * freed of 0.5 GiB, 10 MiB came back). A mapping is filled by the system page by page, as it is
 * written, so a slab costs what is used of it.
 *
 * An address is 32 bits: slab << 22 | offset in units of 8 bytes, so slabs reach almost 32 GiB; the
 * last 2^24 addresses stand for the buffers of long records. 0 is no address: segment 0 is never
 * handed out. Addresses are signed, as typed arrays of words hold them.
 *
 * While the pool is held, what is freed is not handed out again: the bytes that an answer names stay
 * as they are until its receiver returns, whatever the receiver does to the engine meanwhile. A
 * pinned buffer stays as long as it is pinned. Memory is used again as it is, stale bytes included:
 * whoever takes some writes all of it that is ever read.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { grown } from '../../base/grown.ts';
import { Handback } from './handback.ts';
import type { MemoryMeter } from './memory-meter.ts';

export const SEGMENT_BYTES = 65536;
export const UNIT_BYTES = 8;
/** Records longer than this have a buffer of their own, so a segment's unused end stays small. */
export const RECORD_SHARED_BYTES_MAX = 16384;

/** Longer records are copied as bytes: a view costs about what 200 bytes in words do. */
const COPY_WORDS_BYTES_MAX = 256;

const SEGMENT_BITS = 13;
const SLAB_BITS = 22;
const OFFSET_MASK = 2 ** SLAB_BITS - 1;
const SLAB_BYTES = 2 ** SLAB_BITS * UNIT_BYTES;
const SEGMENTS_PER_SLAB = SLAB_BYTES / SEGMENT_BYTES;
/** Which segments are free is kept as bits, in words. */
const WORD_BITS = 5;
const WORDS_PER_SLAB = SEGMENTS_PER_SLAB >> WORD_BITS;
/** A slab goes back when it has been empty for so long, and so long after the one before it. */
const EMPTY_MS = 1000;
const HANDBACK_PAUSE_MS = 20;
/** Free segments, of slabs in use, from which on a slab is emptied, and below which it is not. */
const FREE_MAX = SEGMENTS_PER_SLAB * 1.5;
const FREE_MIN = SEGMENTS_PER_SLAB * 1.125;
/** Other buffers go back together, before they are more than these; small ones are left to V8. */
const DROPPED_BYTES_MIN = 16_384;
const DROPPED_BYTES_MAX = 4_194_304;
const DROPPED_COUNT_MAX = 64;
/** Upper eight bits of the addresses of long records. */
const LONG_TAG = 255;
const LONG_MASK = 2 ** 24 - 1;
const NONE = Number.POSITIVE_INFINITY;
const SLABS_MAX = LONG_TAG << (24 - SLAB_BITS);

export class SegmentPool {
  readonly #meter: MemoryMeter;
  readonly #clock: Clock;
  readonly #handback = new Handback();
  /** Of each slab; of one that has gone back NO_WORDS and NOTHING. */
  readonly #slabWords: Int32Array<ArrayBuffer>[] = [];
  readonly #slabBytes: Buffer[] = [];
  /** Of each slab: segments in use, and since when there are none, by the clock. */
  #slabUsed = new Int32Array(16);
  #emptySince = new Float64Array(16);
  /** Which segments are free, a bit each, and a word below which none is. */
  #free = new Int32Array(WORDS_PER_SLAB);
  #lowestFree = 0;
  /** Buffers that have gone and have not been freed, and their bytes. */
  #dropped: ArrayBuffer[] = [];
  #droppedBytes = 0;
  #timer: Timer | undefined;
  readonly #onTimer = () => this.#timerOnDue();
  /** Free segments of the slabs in use. */
  #freeCount = 0;
  /** Segments from this one on are to be emptied; Infinity for none. */
  evacuateFrom = NONE;
  /** Of each segment: bytes of records that count, bytes written, owner's list. See RecordLog. */
  live = new Int32Array(64);
  used = new Int32Array(64);
  next = new Int32Array(64);
  previous = new Int32Array(64);
  /** Of each long record's buffer. */
  readonly #longWords: Int32Array<ArrayBuffer>[] = [];
  readonly #longBytes: Buffer[] = [];
  #longPins = new Int32Array(16);
  /** 1: freed, but pinned or held. */
  #longDead = new Uint8Array(16);
  readonly #longFree: number[] = [];
  #holds = 0;
  /** Freed while held: segments, and long records as negative addresses. */
  readonly #limbo: number[] = [];

  constructor(meter: MemoryMeter, clock: Clock) {
    this.#meter = meter;
    this.#clock = clock;
    // So that the collection that V8 makes of a first large buffer does not fall in a request.
    this.#addSlab();
  }

  /** Slabs that exist, in use or not. */
  get slabCount(): number {
    return this.#slabWords.filter((words) => words !== NO_WORDS).length;
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
    const free = this.#free;
    while (this.#lowestFree < free.length && free[this.#lowestFree] === 0) this.#lowestFree++;
    if (this.#lowestFree === free.length && !this.#addSlab()) {
      this.#meter.give(SEGMENT_BYTES);
      return 0;
    }
    const word = this.#lowestFree;
    const bits = this.#free[word]!;
    this.#free[word] = bits & (bits - 1);
    const segment = (word << WORD_BITS) + 31 - Math.clz32(bits & -bits);
    this.#count(Math.floor(segment / SEGMENTS_PER_SLAB), 1);
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
    const bytes = Buffer.allocUnsafeSlow(length) as Buffer<ArrayBuffer>;
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

  /** Gives a buffer back that nobody uses any more, and that is not accounted for here. */
  drop(buffer: ArrayBuffer): void {
    if (buffer.byteLength < DROPPED_BYTES_MIN) return;
    this.#dropped.push(buffer);
    this.#droppedBytes += buffer.byteLength;
    if (this.#droppedBytes > DROPPED_BYTES_MAX || this.#dropped.length === DROPPED_COUNT_MAX) {
      this.#freeDropped();
    } else this.#timer ??= this.#clock.after(EMPTY_MS, this.#onTimer);
  }

  /** Nothing is given back any more. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
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
    const word = segment >> WORD_BITS;
    this.#free[word]! |= 1 << (segment & 31);
    if (word < this.#lowestFree) this.#lowestFree = word;
    this.#count(slab, -1);
    if (this.#slabUsed[slab] !== 0) return;
    this.#emptySince[slab] = this.#clock.now();
    this.#timer ??= this.#clock.after(EMPTY_MS, this.#onTimer);
  }

  /** So many more segments of the slab are in use. */
  #count(slab: number, more: number): void {
    const before = this.#slabUsed[slab]!;
    this.#slabUsed[slab] = before + more;
    this.#freeCount -= more;
    if (before === 0) this.#freeCount += SEGMENTS_PER_SLAB;
    else if (before + more === 0) {
      this.#freeCount -= SEGMENTS_PER_SLAB;
      this.evacuateFrom = NONE;
    }
    if (this.#freeCount < FREE_MIN) this.evacuateFrom = NONE;
    else if (this.#freeCount > FREE_MAX && this.evacuateFrom === NONE) this.#evacuate();
  }

  /** The highest slab in use is to be emptied. */
  #evacuate(): void {
    let slab = this.#slabWords.length - 1;
    while (this.#slabUsed[slab] === 0) slab--;
    this.evacuateFrom = slab * SEGMENTS_PER_SLAB;
  }

  #reuseLong(number: number): void {
    if (this.#longDead[number] === 0 || this.#longPins[number]! > 0) return;
    if (this.#holds > 0) {
      this.#limbo.push(-number - 1);
      return;
    }
    const { buffer } = this.#longWords[number]!;
    this.#meter.give(buffer.byteLength);
    this.#longDead[number] = 0;
    this.#longBytes[number] = NOTHING;
    this.#longWords[number] = NO_WORDS;
    this.#longFree.push(number);
    this.drop(buffer);
  }

  #freeDropped(): void {
    this.#handback.free(this.#dropped);
    this.#dropped = [];
    this.#droppedBytes = 0;
  }

  /** Gives one empty slab back, and comes again as long as there are others. */
  #timerOnDue(): void {
    this.#timer = undefined;
    if (this.#dropped.length > 0) this.#freeDropped();
    const now = this.#clock.now();
    let isOneFreed = false;
    let delayMs = Number.POSITIVE_INFINITY;
    for (let slab = this.#slabWords.length - 1; slab >= 0; slab--) {
      if (this.#slabUsed[slab] !== 0 || this.#slabWords[slab] === NO_WORDS) continue;
      const restMs = this.#emptySince[slab]! + EMPTY_MS - now;
      if (restMs > 0 || isOneFreed) {
        delayMs = Math.min(delayMs, Math.max(restMs, HANDBACK_PAUSE_MS));
        continue;
      }
      this.#freeSlab(slab);
      isOneFreed = true;
    }
    if (delayMs < Number.POSITIVE_INFINITY) {
      this.#timer ??= this.#clock.after(Math.ceil(delayMs), this.#onTimer);
    }
  }

  #freeSlab(slab: number): void {
    const { buffer } = this.#slabWords[slab]!;
    this.#slabWords[slab] = NO_WORDS;
    this.#slabBytes[slab] = NOTHING;
    this.#free.fill(0, slab * WORDS_PER_SLAB, (slab + 1) * WORDS_PER_SLAB);
    this.#handback.free([buffer]);
  }

  /** Makes the lowest slab that does not exist. */
  #addSlab(): boolean {
    const hole = this.#slabWords.indexOf(NO_WORDS);
    const slab = hole < 0 ? this.#slabWords.length : hole;
    if (slab === SLABS_MAX) return false;
    const buffer = new ArrayBuffer(SLAB_BYTES);
    this.#slabWords[slab] = new Int32Array(buffer);
    this.#slabBytes[slab] = Buffer.from(buffer);
    this.#slabUsed = grown(this.#slabUsed, slab + 1);
    this.#emptySince = grown(this.#emptySince, slab + 1);
    this.#lowestFree = slab * WORDS_PER_SLAB;
    this.#free = grown(this.#free, this.#lowestFree + WORDS_PER_SLAB);
    this.#free.fill(-1, this.#lowestFree, this.#lowestFree + WORDS_PER_SLAB);
    if (slab === 0) this.#free[0] = ~1;
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
