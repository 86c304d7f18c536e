/**
 * Reads segments, each whole, the next one already while the one before is worked on, unless it is too
 * long for that. The pages of two are used in turn: what was read stays until the next is asked for.
 */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { SummedMemory } from './checksum.ts';
import { RecordChecker } from './record-checker.ts';
import { Page } from './record-codec.ts';
import {
  HEADER_BYTES,
  headerFault,
  madeBytesOf,
  type SegmentId,
  segmentName,
  segmentSeed,
} from './segment.ts';
import { SEGMENT_BYTES } from './segment-supply.ts';
import type { Storage } from './storage.ts';

/** Where less may be read ahead, there is no memory for a thread, either. */
const THREAD_BYTES_MIN = 16_777_216;
/** In a shorter one there is nothing that a thread would be worth. */
const CHECKED_BYTES_MIN = 4_194_304;

export interface ReadSegment {
  readonly id: SegmentId;
  readonly seed: number;
  readonly page: Page;
  /** Bytes of the file. */
  readonly length: number;
  /** How long it was made; 0 where that is not told. */
  readonly madeBytes: number;
  /** What is wrong with its header. */
  readonly fault: string | undefined;
  /** The records before this offset are known to be whole. */
  readonly wholeEnd: number;
}

export class SegmentReader {
  readonly #storage: Storage;
  readonly #checksAhead: boolean;
  readonly #aheadBytesMax: number;
  readonly #pages: Page[] = [];
  /** Which of the pages was given last. */
  #turn = 0;
  /** From the first long segment on that is read ahead. */
  #checker: RecordChecker | undefined;
  #ahead: { readonly name: string; readonly segment: Promise<ReadSegment | undefined> } | undefined;

  /**
   * `checksAhead`: the records of the next one are checked, too; then close has to be called.
   * `aheadBytesMax`: longer ones are read when they are asked for, into the page of the one before.
   */
  constructor(storage: Storage, checksAhead = false, aheadBytesMax = Number.POSITIVE_INFINITY) {
    this.#storage = storage;
    this.#aheadBytesMax = aheadBytesMax;
    const mayHaveThread = availableParallelism() > 1 && aheadBytesMax >= THREAD_BYTES_MIN;
    this.#checksAhead = checksAhead && mayHaveThread;
  }

  async read(id: SegmentId, next: SegmentId | undefined): Promise<ReadSegment> {
    const name = segmentName(id);
    const ahead = this.#ahead;
    this.#ahead = undefined;
    // Also where it is another that is wanted: its page is not free before.
    const read = await ahead?.segment.catch(() => undefined);
    const segment =
      read !== undefined && ahead?.name === name ? read : await this.readFile(name, id);
    if (next !== undefined) {
      const reading = this.#readAhead(next);
      // Whoever asks for it reads again, and gets the error then.
      reading.catch(() => {});
      this.#ahead = { name: segmentName(next), segment: reading };
    }
    return segment;
  }

  async close(): Promise<void> {
    // What is read ahead may only now come to where it needs the thread.
    await this.#ahead?.segment.catch(() => {});
    await this.#checker?.close();
  }

  /** Reads a file of any name as that segment. */
  async readFile(name: string, id: SegmentId): Promise<ReadSegment> {
    const segment = await this.#readFile(name, id, false);
    assert(segment !== undefined);
    return segment;
  }

  async #readFile(name: string, id: SegmentId, isAhead: boolean): Promise<ReadSegment | undefined> {
    const file = await this.#storage.open(name);
    try {
      if (isAhead && file.length > this.#aheadBytesMax) return undefined;
      const page = this.#page(file.length);
      const length = await file.read(page.bytes, 0);
      page.bytes.fill(0, length, Math.min(page.bytes.length, length + 8));
      const fault = headerFault(id, page, length);
      const madeBytes = fault === undefined ? madeBytesOf(page) : 0;
      return { id, seed: segmentSeed(id), page, length, madeBytes, fault, wholeEnd: 0 };
    } finally {
      await file.close();
    }
  }

  async #readAhead(id: SegmentId): Promise<ReadSegment | undefined> {
    const segment = await this.#readFile(segmentName(id), id, true);
    if (segment === undefined) return undefined;
    const { page, length, seed, fault } = segment;
    const isLong = length >= CHECKED_BYTES_MIN;
    if (!this.#checksAhead || !isLong || fault !== undefined) return segment;
    this.#checker ??= new RecordChecker();
    const wholeEnd = await this.#checker.wholeEnd(page, HEADER_BYTES, length, seed);
    return { ...segment, wholeEnd };
  }

  #page(bytes: number): Page {
    // One page alone is as long as the longest segment.
    this.#turn = bytes <= this.#aheadBytesMax ? this.#turn ^ 1 : 0;
    const page = this.#pages[this.#turn];
    // Zeros behind the last byte, up to a whole record, count as the file's.
    const needed = (bytes + 15) & ~7;
    if (page !== undefined && page.bytes.length >= needed) return page;
    // A page that is outgrown stays resident until V8 collects it: so it has the usual length at once.
    const isUsual = bytes >= CHECKED_BYTES_MIN / 4 && bytes <= this.#aheadBytesMax;
    const length = isUsual
      ? Math.max(needed, Math.min(this.#aheadBytesMax, SEGMENT_BYTES) + 16)
      : needed;
    const longer = new Page(length, new SummedMemory(length, true));
    this.#pages[this.#turn] = longer;
    return longer;
  }
}
