/**
 * Segments for the log, written out and durable before they are needed: records have their place on the disk
 * before any answer promises them. Two segments are kept ready: the next one, and one that only removals get
 * when the disk is full.
 *
 * A segment (segment-maker.ts) has its number last, so that the ready segments are in the order of their
 * numbers. When segments are used faster than they are made, one is made on the spot. When none can be made,
 * the supply tries again every second; until then removals get short segments, as long as there is room for
 * those. The space that compaction has freed goes to its reserve first: until that is whole, only the first
 * segment and short ones are made.
 *
 * Some file systems write each block to a new place, and have none for a record in a segment that is written
 * out, or less by another user's quota. Then the ready segments give their space up, and the reserve last.
 */
import assert from 'node:assert/strict';
import type { Clock, Timer } from '../base/clock.ts';
import type { InTurn } from '../base/in-turn.ts';
import type { Reserve } from './reserve.ts';
import { HEADER_BYTES } from './segment.ts';
import { type LogSegment, SegmentMaker } from './segment-maker.ts';
import { isFullDisk, type Storage } from './storage.ts';

/** Length of a segment on a large disk, where the memory suffices. */
export const SEGMENT_BYTES = 33_554_432;
const SEGMENT_BYTES_MIN = 1_048_576;
/**
 * Length of the first segment of a start, if others are longer, in bytes. It is made when recovery has ended,
 * and requests wait for it.
 */
const FIRST_BYTES = 4_194_304;
/** A small disk has room for this many segments at least. */
const SEGMENTS_MIN = 32;
const READY_COUNT = 2;
const RETRY_MS = 1000;
/** Length of a short segment, for removals on a full disk: at most this, and this share of a whole one. */
const SHORT_BYTES = 65_536;
const SHORT_SHARE = 1 / 8;
/** Delay before a short segment is tried again, in ms. */
const SHORT_RETRY_MS = 100;

interface SupplyOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly segmentBytes: number;
  readonly space: InTurn;
  readonly reserve: Reserve;
  onFault(): void;
}

export class SegmentSupply {
  readonly segmentBytes: number;
  /** Why no segment can be made; undefined while one can. */
  fault: Error | undefined;
  readonly #maker: SegmentMaker;
  readonly #clock: Clock;
  /** Called when `fault` has changed. */
  readonly #onFault: () => void;
  /** Each user of space that must not be disturbed takes its turn. */
  readonly #space: InTurn;
  readonly #reserve: Reserve;
  readonly #ready: LogSegment[] = [];
  /** Number of the last segment that is or was ready. */
  #lastNumber = 0;
  #making: Promise<void> | undefined;
  #retry: Timer | undefined;
  #shortNotBeforeMs = Number.NEGATIVE_INFINITY;
  /** Whether the log is in the first segment. */
  #hasBegun = false;
  #isClosed = false;

  constructor({ storage, clock, segmentBytes, space, reserve, onFault }: SupplyOptions) {
    this.#maker = new SegmentMaker(storage);
    this.#clock = clock;
    this.segmentBytes = segmentBytes;
    this.#space = space;
    this.#reserve = reserve;
    this.#onFault = onFault;
  }

  /**
   * Resolves with the first segment, of at least that number. With `isShort` it may be shorter, if there
   * is no more room. Rejects where it cannot be made.
   */
  async first(number: number, isShort = false): Promise<LogSegment> {
    this.#maker.nextNumber = Math.max(this.#maker.nextNumber, number);
    const segment = await this.#space.run(() => this.#makeFirst(isShort));
    this.#lastNumber = segment.number;
    return segment;
  }

  /**
   * Replaces a first segment that has left no room for the files that name it: resolves with one half as
   * long; undefined where that would be too short. Rejects where it cannot be made.
   */
  async shorter(first: LogSegment): Promise<LogSegment | undefined> {
    await this.#maker.discard(first);
    const bytes = filled64(first.bytes / 2);
    if (bytes < this.#shortBytes() || bytes >= first.bytes) return undefined;
    this.#maker.nextNumber = first.number;
    return await this.#space.run(() => this.#maker.make(bytes));
  }

  async #makeFirst(isShort: boolean): Promise<LogSegment> {
    for (let bytes = Math.min(FIRST_BYTES, this.segmentBytes); ; bytes = filled64(bytes / 2)) {
      try {
        return await this.#maker.make(bytes);
      } catch (error) {
        this.#setFault(error as Error);
        if (!isShort || !isFullDisk(error) || bytes / 2 < this.#shortBytes()) throw error;
      }
    }
  }

  /**
   * The next segment, with room for `bytes` of records; undefined when there is none for this use. May
   * block while a segment is written out.
   */
  take(bytes: number, isRemoval: boolean): LogSegment | undefined {
    const needed = Math.max(this.segmentBytes, HEADER_BYTES + bytes);
    if (needed > this.segmentBytes) return this.#taken(this.#makeLarge(needed));
    while (this.#ready.length < READY_COUNT && this.fault === undefined) {
      const made = this.#makeBehindReserve(needed);
      if (made !== undefined) this.#keep(made);
    }
    const isFree = isRemoval || this.#ready.length >= READY_COUNT;
    const next = isFree ? this.#ready.shift() : undefined;
    return this.#taken(next ?? (isRemoval ? this.#makeShort(HEADER_BYTES + bytes) : undefined));
  }

  /** A segment for one long record. Where it fails, the fault stays until the next try, whatever is ready. */
  #makeLarge(needed: number): LogSegment | undefined {
    if (this.fault !== undefined) return undefined;
    const large = this.#makeBehindReserve(needed);
    if (large === undefined) this.#retryLater();
    else this.#dropReady();
    return large;
  }

  /** A segment of space that the reserve does not need; undefined where it is not whole. */
  #makeBehindReserve(bytes: number): LogSegment | undefined {
    if (this.#reserve.isWhole) return this.#makeNow(bytes);
    this.#setFault(new SpaceReserved());
    return undefined;
  }

  /** A segment for removals, which continue as long as there is room for any record. */
  #makeShort(needed: number): LogSegment | undefined {
    const now = this.#clock.now();
    if (now < this.#shortNotBeforeMs) return undefined;
    const made = this.#makeNow(Math.max(this.#shortBytes(), filled64(needed)));
    if (made === undefined) this.#shortNotBeforeMs = now + SHORT_RETRY_MS;
    return made;
  }

  #shortBytes(): number {
    return filled64(Math.min(SHORT_BYTES, this.segmentBytes * SHORT_SHARE));
  }

  /**
   * Gives up a ready segment or the reserve, in a call that blocks, as a write has found no space. False
   * where there is nothing to give up now.
   */
  giveUpNow(fault: Error): boolean {
    this.#setFault(fault);
    this.#retryLater();
    const segment = this.#ready.pop();
    try {
      if (segment === undefined) return !this.#space.isBusy && this.#reserve.removeNow();
      this.#maker.discardNow(segment);
      return true;
    } catch (error) {
      this.#setFault(error as Error);
      return false;
    }
  }

  /** Called when the log begins. A segment made ready before would have a lower number than the first. */
  begin(): void {
    this.#hasBegun = true;
    this.retry();
  }

  /** Called when space may have become free: tries at once. */
  retry(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#refill();
  }

  /** Gives the space of the ready segments to the reserve, as far as it is not whole. */
  async yieldReady(): Promise<void> {
    await this.#space.run(async () => {
      if (this.#reserve.isWhole) return;
      for (const segment of this.#ready.splice(0)) await this.#maker.discard(segment);
      await this.#reserve.fill();
    });
  }

  /** Resolves when nothing is under way. The next start removes the segments that are ready. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#retry?.cancel();
    await this.#making;
    for (const { file } of this.#ready.splice(0)) await file.close();
  }

  /** Asserts that the ready segments are in the order of their numbers. */
  invariants(): void {
    assert.ok(this.#ready.length <= READY_COUNT + 1, 'ready segments');
    let last = 0;
    for (const { number } of this.#ready) {
      assert.ok(number > last && number <= this.#lastNumber, 'order of ready segments');
      last = number;
    }
  }

  /** The segment is ready, behind all others. */
  #keep(segment: LogSegment): void {
    const last = this.#ready.at(-1);
    if (last !== undefined && segment.number <= last.number) assert.fail('order of ready segments');
    this.#ready.push(segment);
  }

  #taken(segment: LogSegment | undefined): LogSegment | undefined {
    if (segment !== undefined) this.#lastNumber = Math.max(this.#lastNumber, segment.number);
    this.#refill();
    return segment;
  }

  #refill(): void {
    if (this.#making !== undefined || this.#retry !== undefined) return;
    if (!this.#hasBegun || this.#isClosed) return;
    if (this.#ready.length >= READY_COUNT) return this.#setFault(undefined);
    this.#making = this.#makeNext().finally(() => {
      this.#making = undefined;
      this.#refill();
    });
  }

  #retryLater(): void {
    this.#retry ??= this.#clock.after(RETRY_MS, () => this.retry());
  }

  async #makeNext(): Promise<void> {
    try {
      const segment = await this.#space.run(async () => {
        if (!this.#reserve.isWhole) await this.#reserve.complete();
        return await this.#maker.make(this.segmentBytes);
      });
      if (segment.number > this.#lastNumber) {
        this.#lastNumber = segment.number;
        this.#keep(segment);
      } else await this.#maker.discard(segment);
      if (this.#ready.length >= READY_COUNT) this.#setFault(undefined);
    } catch (error) {
      this.#setFault(error as Error);
      this.#retryLater();
    }
  }

  /** Undefined where it cannot be made. */
  #makeNow(bytes: number): LogSegment | undefined {
    try {
      const segment = this.#maker.makeNow(bytes);
      this.#lastNumber = segment.number;
      return segment;
    } catch (error) {
      this.#setFault(error as Error);
      return undefined;
    }
  }

  /** The ready segments have lower numbers than the one made last: they can no longer follow it. */
  #dropReady(): void {
    for (const segment of this.#ready.splice(0)) void this.#maker.discard(segment);
  }

  #setFault(fault: Error | undefined): void {
    if (this.fault?.message === fault?.message) return;
    this.fault = fault;
    this.#onFault();
  }
}

/** There is no space beside what the reserve needs. */
class SpaceReserved extends Error {
  readonly code = 'ENOSPC';

  constructor() {
    super('ENOSPC: the space that is left is needed to free more');
  }
}

/** Length of segments on a disk of `totalBytes`, where recovery may read `readBytesMax` at a time. */
export function segmentBytesFor(totalBytes: number, readBytesMax = SEGMENT_BYTES): number {
  const most = Math.min(totalBytes / SEGMENTS_MIN, readBytesMax);
  const share = Math.floor(most / SEGMENT_BYTES_MIN) * SEGMENT_BYTES_MIN;
  return Math.min(SEGMENT_BYTES, Math.max(SEGMENT_BYTES_MIN, share));
}

/** The next multiple of 64, at least one into which a record fits. */
function filled64(bytes: number): number {
  return Math.max(512, Math.ceil(bytes / 64) * 64);
}
