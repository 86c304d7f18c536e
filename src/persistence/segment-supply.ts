/**
 * Prepares segments for the log, filled and durable before they are needed, so that disk space for
 * records is allocated before a response confirms them. Two segments are always prepared: the next
 * one, and one that is reserved for removals when the disk is full.
 *
 * A segment (segment-maker.ts) is numbered when it is complete, so that the prepared segments are
 * in the order of their numbers. If segments are used faster than they are prepared, one is created
 * in a blocking call. If none can be created, the supply retries every second; until then removals
 * get short segments, while there is room for them. Space that compaction frees refills its reserve
 * first: until that is complete, only the first segment and short ones are created.
 *
 * On some file systems each write allocates new blocks, so writing a record into a filled segment
 * can fail for lack of space, as it can with a shared quota. Then the prepared segments are removed
 * to free space, and finally the reserve.
 */
import assert from 'node:assert/strict';
import type { Clock, Timer } from '../base/clock.ts';
import type { SerialQueue } from '../base/serial-queue.ts';
import type { LogFiles } from './log-files.ts';
import type { Reserve } from './reserve.ts';
import { HEADER_BYTES } from './segment.ts';
import { type LogSegment, SegmentMaker } from './segment-maker.ts';
import { isFullDisk, type Storage } from './storage.ts';

/** Minimum length of a segment, in bytes; a short one may be shorter. */
const SEGMENT_BYTES_MIN = 1_048_576;
/**
 * Length of a segment on a large disk with sufficient memory, in bytes. With GRIDNODE_SLABS=small,
 * as `make test` sets it, segments have the minimum length.
 */
export const SEGMENT_BYTES =
  process.env.GRIDNODE_SLABS === 'small' ? SEGMENT_BYTES_MIN : 33_554_432;
/**
 * Maximum length of the first segment of a start, in bytes. It is created when recovery has ended,
 * and requests wait for it.
 */
const FIRST_BYTES = 4_194_304;
/** Minimum number of segments for which a small disk has room. */
const SEGMENTS_MIN = 32;
/** Number of prepared segments. */
const READY_COUNT = 2;
/** Delay before creating a segment is retried, in ms. */
const RETRY_MS = 1000;
/**
 * Maximum length of a short segment, for removals on a full disk: in bytes, and as a share of a
 * whole segment.
 */
const SHORT_BYTES = 65_536;
const SHORT_SHARE = 1 / 8;
/** Delay before creating a short segment is retried, in ms. */
const SHORT_RETRY_MS = 100;

interface SupplyOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly segmentBytes: number;
  readonly files: LogFiles;
  readonly space: SerialQueue;
  readonly reserve: Reserve;
  onFault(): void;
}

export class SegmentSupply {
  readonly segmentBytes: number;
  /** The files of the log, those of the prepared segments included. */
  readonly files: LogFiles;
  /** The reason why no segment can be created; undefined while one can. */
  fault: Error | undefined;
  readonly #maker: SegmentMaker;
  readonly #clock: Clock;
  /** Called when `fault` has changed. */
  readonly #onFault: () => void;
  /** Serializes the users of disk space. */
  readonly #space: SerialQueue;
  readonly #reserve: Reserve;
  readonly #ready: LogSegment[] = [];
  /** Number of the last prepared segment. */
  #lastNumber = 0;
  #making: Promise<void> | undefined;
  #retryTimer: Timer | undefined;
  #shortNotBeforeMs = Number.NEGATIVE_INFINITY;
  /** Whether the log has started. */
  #hasBegun = false;
  #isClosed = false;

  constructor({ storage, clock, segmentBytes, files, space, reserve, onFault }: SupplyOptions) {
    this.#maker = new SegmentMaker(storage, files);
    this.files = files;
    this.#clock = clock;
    this.segmentBytes = segmentBytes;
    this.#space = space;
    this.#reserve = reserve;
    this.#onFault = onFault;
  }

  /**
   * Creates the first segment, whose number is at least `number`. With `isShort` it may be shorter
   * if there is too little room. Rejects if it cannot be created.
   */
  async first(number: number, isShort = false): Promise<LogSegment> {
    this.#maker.nextNumber = Math.max(this.#maker.nextNumber, number);
    const segment = await this.#space.run(() => this.#makeFirst(isShort));
    this.#lastNumber = segment.number;
    return segment;
  }

  /**
   * Replaces a first segment that has left no room for the files that name it. Resolves with a
   * segment half as long; undefined if that would be too short. Rejects if it cannot be created.
   */
  async shorter(first: LogSegment): Promise<LogSegment | undefined> {
    await this.#maker.discard(first);
    const bytes = segmentLength(first.bytes / 2);
    if (bytes < this.#shortBytes() || bytes >= first.bytes) return undefined;
    this.#maker.nextNumber = first.number;
    return await this.#space.run(() => this.#maker.make(bytes));
  }

  async #makeFirst(isShort: boolean): Promise<LogSegment> {
    for (let bytes = Math.min(FIRST_BYTES, this.segmentBytes); ; bytes = segmentLength(bytes / 2)) {
      try {
        return await this.#maker.make(bytes);
      } catch (error) {
        this.#setFault(error as Error);
        if (!isShort || !isFullDisk(error) || bytes / 2 < this.#shortBytes()) throw error;
      }
    }
  }

  /**
   * Returns the next segment, which has room for `bytes` of records, or undefined if there is none
   * for this use. May block while a segment is filled.
   */
  acquire(bytes: number, isRemoval: boolean): LogSegment | undefined {
    const needed = Math.max(this.segmentBytes, HEADER_BYTES + bytes);
    if (needed > this.segmentBytes) return this.#onAcquired(this.#makeLarge(needed));
    while (this.#ready.length < READY_COUNT && this.fault === undefined) {
      const made = this.#makeBesideReserve(needed);
      if (made !== undefined) this.#addReady(made);
    }
    const isFree = isRemoval || this.#ready.length >= READY_COUNT;
    const next = isFree ? this.#ready.shift() : undefined;
    return this.#onAcquired(
      next ?? (isRemoval ? this.#makeShort(HEADER_BYTES + bytes) : undefined),
    );
  }

  /**
   * Creates a segment for one long record. If that fails, the fault remains until the next retry,
   * even if other segments are prepared.
   */
  #makeLarge(needed: number): LogSegment | undefined {
    if (this.fault !== undefined) return undefined;
    const large = this.#makeBesideReserve(needed);
    if (large === undefined) this.#retryLater();
    else this.#dropReady();
    return large;
  }

  /**
   * Creates a segment from space that the reserve does not need; undefined if the reserve is
   * incomplete.
   */
  #makeBesideReserve(bytes: number): LogSegment | undefined {
    if (this.#reserve.isWhole) return this.#makeNow(bytes);
    this.#setFault(new SpaceReservedError());
    return undefined;
  }

  /** Creates a segment for removals, which succeed while there is room for any record. */
  #makeShort(needed: number): LogSegment | undefined {
    const now = this.#clock.now();
    if (now < this.#shortNotBeforeMs) return undefined;
    const made = this.#makeNow(Math.max(this.#shortBytes(), segmentLength(needed)));
    if (made === undefined) this.#shortNotBeforeMs = now + SHORT_RETRY_MS;
    return made;
  }

  #shortBytes(): number {
    return segmentLength(Math.min(SHORT_BYTES, this.segmentBytes * SHORT_SHARE));
  }

  /**
   * Removes a prepared segment or the reserve in a blocking call, because a write has found no
   * space. Returns false if there is nothing to remove now.
   */
  freeSpaceNow(fault: Error): boolean {
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

  /**
   * Starts preparing segments. Called when the log starts: a segment prepared earlier would have a
   * lower number than the first one.
   */
  begin(): void {
    this.#hasBegun = true;
    this.retry();
  }

  /** Retries at once. Called when space may have become free. */
  retry(): void {
    this.#retryTimer?.cancel();
    this.#retryTimer = undefined;
    this.#refill();
  }

  /** Gives the space of the prepared segments to the reserve, unless it is complete. */
  async giveReadyToReserve(): Promise<void> {
    await this.#space.run(async () => {
      if (this.#reserve.isWhole) return;
      for (const segment of this.#ready.splice(0)) await this.#maker.discard(segment);
      await this.#reserve.fill();
    });
  }

  /**
   * Stops preparing segments. Resolves when no work is running. The next start removes the prepared
   * segments.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#retryTimer?.cancel();
    await this.#making;
    for (const { file } of this.#ready.splice(0)) await file.close();
  }

  /** Asserts that the prepared segments are in the order of their numbers. */
  invariants(): void {
    assert.ok(this.#ready.length <= READY_COUNT + 1, 'ready segments');
    let last = 0;
    for (const { number } of this.#ready) {
      assert.ok(number > last && number <= this.#lastNumber, 'order of ready segments');
      last = number;
    }
  }

  /** Appends the segment to the prepared ones. */
  #addReady(segment: LogSegment): void {
    const last = this.#ready.at(-1);
    if (last !== undefined && segment.number <= last.number) assert.fail('order of ready segments');
    this.#ready.push(segment);
  }

  #onAcquired(segment: LogSegment | undefined): LogSegment | undefined {
    if (segment !== undefined) this.#lastNumber = Math.max(this.#lastNumber, segment.number);
    this.#refill();
    return segment;
  }

  #refill(): void {
    if (this.#making !== undefined || this.#retryTimer !== undefined) return;
    if (!this.#hasBegun || this.#isClosed) return;
    if (this.#ready.length >= READY_COUNT) return this.#setFault(undefined);
    this.#making = this.#makeNext().finally(() => {
      this.#making = undefined;
      this.#refill();
    });
  }

  #retryLater(): void {
    this.#retryTimer ??= this.#clock.after(RETRY_MS, () => this.retry());
  }

  async #makeNext(): Promise<void> {
    try {
      const segment = await this.#space.run(async () => {
        if (!this.#reserve.isWhole) await this.#reserve.complete();
        return await this.#maker.make(this.segmentBytes);
      });
      if (segment.number > this.#lastNumber) {
        this.#lastNumber = segment.number;
        this.#addReady(segment);
      } else await this.#maker.discard(segment);
      if (this.#ready.length >= READY_COUNT) this.#setFault(undefined);
    } catch (error) {
      this.#setFault(error as Error);
      this.#retryLater();
    }
  }

  /** Creates a segment in a blocking call; undefined if that fails. */
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

  /**
   * Discards the prepared segments: their numbers are lower than that of the segment created last,
   * so they can no longer follow it.
   */
  #dropReady(): void {
    for (const segment of this.#ready.splice(0)) void this.#maker.discard(segment);
  }

  #setFault(fault: Error | undefined): void {
    if (this.fault?.message === fault?.message) return;
    this.fault = fault;
    this.#onFault();
  }
}

/** The fault when the reserve needs all remaining space. */
class SpaceReservedError extends Error {
  readonly code = 'ENOSPC';

  constructor() {
    super('ENOSPC: the remaining space is reserved for compaction');
  }
}

/**
 * Returns the length of segments on a disk of `totalBytes` if recovery may read `readBytesMax` at a
 * time; `bytesMax` is the maximum.
 */
export function segmentBytesFor(
  totalBytes: number,
  readBytesMax = SEGMENT_BYTES,
  bytesMax = SEGMENT_BYTES,
): number {
  const most = Math.min(totalBytes / SEGMENTS_MIN, readBytesMax);
  const share = Math.floor(most / SEGMENT_BYTES_MIN) * SEGMENT_BYTES_MIN;
  return Math.min(bytesMax, Math.max(SEGMENT_BYTES_MIN, share));
}

/** Rounds up to a multiple of 64, and at least to a length into which a record fits. */
function segmentLength(bytes: number): number {
  return Math.max(512, Math.ceil(bytes / 64) * 64);
}
