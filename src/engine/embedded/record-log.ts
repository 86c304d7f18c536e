/**
 * The records of one partition in the order written, in segments: the last one, the head, is being
 * filled; the others are sealed. A record that dies leaves its bytes where they are. A segment without
 * live bytes goes back to the pool at once. A sparse one, or one in a slab that the pool wants to
 * empty, is emptied by the cleaner (cleaner.ts), which writes to the head, too.
 */
import { bytesAt, markDeadAt } from './record.ts';
import { RECORD_SHARED_BYTES_MAX, type SegmentPool, UNIT_BYTES } from './segment-pool.ts';
import { SEGMENT_BYTES } from './slabs.ts';

/**
 * The share of dead bytes in sealed segments above which the live ones are moved. With 0.2 churn is
 * faster by a tenth, and the resident set afterwards 1.18 of that before instead of 1.14.
 */
const DEAD_SHARE_MAX = 0.15;

export class RecordLog {
  readonly #pool: SegmentPool;
  /** The segment being filled, 0 for none, and its bytes written. */
  #head = 0;
  #headUsed = 0;
  /** First of the sealed segments' list, which the pool keeps. */
  #sealed = 0;
  #sealedUsed = 0;
  #sealedLive = 0;
  #sealedCount = 0;
  /** The segment being emptied, 0 for none, and the position in it, in bytes. */
  victim = 0;
  victimDone = 0;
  /** As far as is known, the log has no segment from this one on. */
  #noneFrom = Number.POSITIVE_INFINITY;
  /** Bytes written and killed for which the cleaner has not worked yet. */
  owed = 0;

  constructor(pool: SegmentPool) {
    this.#pool = pool;
  }

  /** Bytes of live records in shared segments. */
  get liveBytes(): number {
    return this.#sealedLive + (this.#head === 0 ? 0 : this.#pool.live[this.#head]!);
  }

  /** Address of the next record, if it is not too long; 0 where there is no segment yet. */
  get nextAddress(): number {
    if (this.#head === 0) return 0;
    return this.#pool.address(this.#head, Math.min(this.#headUsed, SEGMENT_BYTES - UNIT_BYTES));
  }

  /** Whether the cleaner should work. */
  get needsCleaning(): boolean {
    return this.#isSparse || this.#pool.evacuateFrom < this.#noneFrom;
  }

  get #isSparse(): boolean {
    return this.#sealedUsed - this.#sealedLive > DEAD_SHARE_MAX * this.#sealedUsed;
  }

  /** Bytes written to the segment being emptied. */
  get victimUsed(): number {
    return this.#pool.used[this.victim]!;
  }

  /**
   * The address of `length` bytes (a whole record's), which count as live from now on; or 0 when there
   * is no memory and nothing has changed. `spare`: also from the memory kept back.
   */
  allocate(length: number, spare: boolean): number {
    if (length > RECORD_SHARED_BYTES_MAX) return this.#pool.takeLong(length);
    if (this.#head === 0 || this.#headUsed + length > SEGMENT_BYTES) {
      const segment = this.#pool.takeSegment(spare);
      if (segment === 0) return 0;
      if (this.#head !== 0) this.#seal();
      this.#head = segment;
      this.#headUsed = 0;
      if (segment >= this.#noneFrom) this.#noneFrom = Number.POSITIVE_INFINITY;
    }
    const address = this.#pool.address(this.#head, this.#headUsed);
    this.#headUsed += length;
    this.owed += length;
    this.#pool.live[this.#head]! += length;
    return address;
  }

  /** The record there is dead. Its bytes stay readable while the pool is held. */
  kill(address: number): void {
    const pool = this.#pool;
    const words = pool.words(address);
    const at = pool.at(address);
    const segment = pool.segment(address);
    if (segment === 0) {
      pool.freeLong(address);
      return;
    }
    const length = bytesAt(words, at);
    markDeadAt(words, at);
    this.owed += length;
    const live = pool.live[segment]! - length;
    pool.live[segment] = live;
    if (segment === this.#head) {
      if (live === 0) this.#dropHead();
      return;
    }
    this.#sealedLive -= length;
    if (live === 0) this.#dropSealed(segment);
  }

  /** Sealed segments. */
  get sealedCount(): number {
    return this.#sealedCount;
  }

  /** Whether the live records would fit into fewer segments, packed without a gap. */
  get isLoose(): boolean {
    const count = this.#sealedCount + (this.#head === 0 ? 0 : 1);
    return this.liveBytes <= (count - 1) * SEGMENT_BYTES;
  }

  /** The same as chooseVictim, of a log that is loose: the segment with the fewest live bytes. */
  chooseEmptiest(): boolean {
    const { live, next } = this.#pool;
    this.victimDone = 0;
    this.victim = this.#sealed;
    for (let segment = this.#sealed; segment !== 0; segment = next[segment]!) {
      if (live[segment]! < live[this.victim]!) this.victim = segment;
    }
    return this.victim !== 0;
  }

  /** Chooses the segment to be emptied next; false if there is none. */
  chooseVictim(): boolean {
    this.victimDone = 0;
    this.victim = this.#evacuated() || (this.#isSparse ? this.#sparsest() : 0);
    return this.victim !== 0;
  }

  /** Frees every segment with its records. Long records are the caller's. */
  clear(): void {
    if (this.#head !== 0) this.#dropHead();
    while (this.#sealed !== 0) {
      this.#sealedLive -= this.#pool.live[this.#sealed]!;
      this.#dropSealed(this.#sealed);
    }
  }

  /** A segment in the slab that is to be emptied, or 0. */
  #evacuated(): number {
    const from = this.#pool.evacuateFrom;
    if (from >= this.#noneFrom) return 0;
    if (this.#head >= from) {
      this.#seal();
      this.#head = 0;
      this.#headUsed = 0;
    }
    const { next } = this.#pool;
    let segment = this.#sealed;
    while (segment !== 0 && segment < from) segment = next[segment]!;
    if (segment === 0) this.#noneFrom = from;
    return segment;
  }

  /** The sealed segment with the most dead bytes, or 0 if all are full. */
  #sparsest(): number {
    const { live, used, next } = this.#pool;
    let dead = 0;
    let sparsest = 0;
    for (let segment = this.#sealed; segment !== 0; segment = next[segment]!) {
      const here = used[segment]! - live[segment]!;
      if (here <= dead) continue;
      dead = here;
      sparsest = segment;
    }
    return sparsest;
  }

  #seal(): void {
    const { live, used, next, previous } = this.#pool;
    const segment = this.#head;
    used[segment] = this.#headUsed;
    next[segment] = this.#sealed;
    previous[segment] = 0;
    if (this.#sealed !== 0) previous[this.#sealed] = segment;
    this.#sealed = segment;
    this.#sealedCount++;
    this.#sealedUsed += this.#headUsed;
    this.#sealedLive += live[segment]!;
  }

  #dropHead(): void {
    this.#pool.freeSegment(this.#head);
    this.#head = 0;
    this.#headUsed = 0;
  }

  #dropSealed(segment: number): void {
    const { used, next, previous } = this.#pool;
    const after = next[segment]!;
    const before = previous[segment]!;
    if (after !== 0) previous[after] = before;
    if (before !== 0) next[before] = after;
    else this.#sealed = after;
    this.#sealedCount--;
    this.#sealedUsed -= used[segment]!;
    if (segment === this.victim) this.victim = 0;
    this.#pool.freeSegment(segment);
  }
}
