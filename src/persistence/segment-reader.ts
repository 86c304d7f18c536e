/**
 * Reads whole segments. The next one is read while the caller processes the current one, unless it
 * is too long. Two pages are used alternately: the content of a segment is valid until the next one
 * is requested. Tested by recovery.spec.ts.
 */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { type Viewed, ViewedBytes, viewed } from '../base/copy-bytes.ts';
import { RecordChecker } from './record-checker.ts';
import {
  HEADER_BYTES,
  readHeader,
  SEGMENT_BYTES_MAX,
  type SegmentId,
  segmentName,
  segmentSeed,
} from './segment.ts';
import { SEGMENT_BYTES } from './segment-supply.ts';
import type { Storage, StoredFile } from './storage.ts';

/**
 * Minimum number of bytes that may be read ahead for a thread to be used. With less, there is no
 * memory for one.
 */
const THREAD_BYTES_MIN = 16_777_216;
/** Minimum length of a segment that is checked by a thread, in bytes. */
const CHECKED_BYTES_MIN = 4_194_304;

/** The header of a longer segment is read before the rest, in bytes. */
const LONG_BYTES = 2 * SEGMENT_BYTES;

export interface ReadSegment {
  readonly id: SegmentId;
  readonly seed: number;
  readonly page: Viewed;
  /** Length of the file, in bytes; if it is too long, the number of bytes that are read. */
  readonly length: number;
  /**
   * The length with which the segment was created, in bytes; 0 if its header does not specify it.
   */
  readonly createdBytes: number;
  /** Describes the fault of its header or length; undefined if there is none. */
  readonly fault: string | undefined;
  /** The records before this offset have been verified. */
  readonly validEnd: number;
}

export class SegmentReader {
  readonly #storage: Storage;
  readonly #checksAhead: boolean;
  readonly #aheadBytesMax: number;
  readonly #pages: Viewed[] = [];
  /** Index of the last used page. */
  #pageIndex = 0;
  /** Created for the first long segment that is read ahead. */
  #checker: RecordChecker | undefined;
  #ahead: { readonly name: string; readonly segment: Promise<ReadSegment | undefined> } | undefined;

  /**
   * `checksAhead`: also verify the records of the next segment; `close` must then be called.
   * `aheadBytesMax`: longer segments are not read ahead but on request, into the page of their
   * predecessor.
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
    // Needed even if another segment is requested: until then the page is in use.
    const read = await ahead?.segment.catch(() => undefined);
    const segment =
      read !== undefined && ahead?.name === name ? read : await this.readFile(name, id);
    if (next !== undefined) {
      const reading = this.#readAhead(next);
      // A caller that requests this segment reads it again and then gets the error.
      reading.catch(() => {});
      this.#ahead = { name: segmentName(next), segment: reading };
    }
    return segment;
  }

  async close(): Promise<void> {
    // The segment that is being read ahead may still need the thread.
    await this.#ahead?.segment.catch(() => {});
    await this.#checker?.close();
  }

  /** Reads a file with any name as the segment `id`. */
  async readFile(name: string, id: SegmentId): Promise<ReadSegment> {
    const segment = await this.#readFile(name, id, false);
    assert(segment !== undefined);
    return segment;
  }

  async #readFile(name: string, id: SegmentId, isAhead: boolean): Promise<ReadSegment | undefined> {
    const file = await this.#storage.open(name);
    try {
      if (isAhead && file.length > this.#aheadBytesMax) return undefined;
      const made = file.length > LONG_BYTES ? await this.#createdBytes(file) : 0;
      const tooLong = lengthFault(file.length, made);
      const bytesMax = Math.min(Math.max(made, LONG_BYTES), SEGMENT_BYTES_MAX);
      const page = this.#page(tooLong === undefined ? file.length : bytesMax);
      const length = await file.read(page.bytes.subarray(0, file.length), 0);
      page.bytes.fill(0, length, Math.min(page.bytes.length, length + 8));
      const header = readHeader(this.#storage, name, page, length, id);
      const fault = header.fault ?? tooLong;
      const createdBytes = fault === undefined ? header.createdBytes : 0;
      return { id, seed: segmentSeed(id), page, length, createdBytes, fault, validEnd: 0 };
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
    const validEnd = await this.#checker.validEnd(page, HEADER_BYTES, length, seed);
    return { ...segment, validEnd };
  }

  /** Returns the length with which the file was created, in bytes; 0 if its header has none. */
  async #createdBytes(file: StoredFile): Promise<number> {
    const header = new ViewedBytes(HEADER_BYTES);
    const length = await file.read(header.bytes, 0);
    return readHeader(this.#storage, file.name, header, length).createdBytes;
  }

  #page(bytes: number): Viewed {
    // Only the first page grows to the length of the longest segment.
    this.#pageIndex = bytes <= this.#aheadBytesMax ? this.#pageIndex ^ 1 : 0;
    const page = this.#pages[this.#pageIndex];
    // Zeros after the last byte, up to a whole record, count as part of the file.
    const needed = (bytes + 15) & ~7;
    if (page !== undefined && page.bytes.length >= needed) return page;
    // A replaced page stays in memory until V8 collects it, so a new page has the usual length at
    // once.
    const isUsual = bytes >= CHECKED_BYTES_MIN / 4 && bytes <= this.#aheadBytesMax;
    const length = isUsual
      ? Math.max(needed, Math.min(this.#aheadBytesMax, SEGMENT_BYTES) + 16)
      : needed;
    const longer = viewed(Buffer.from(new SharedArrayBuffer(length)));
    this.#pages[this.#pageIndex] = longer;
    return longer;
  }
}

/** Describes why a file of that length is not read completely; undefined if it is. */
function lengthFault(length: number, createdBytes: number): string | undefined {
  if (length > SEGMENT_BYTES_MAX) return 'is longer than a segment can be';
  return createdBytes > 0 && length > createdBytes ? 'is longer than it was made' : undefined;
}

/** Returns the offset after the last byte that is not zero, and at least `at`. */
export function endOfContent({ page, length }: ReadSegment, at: number): number {
  const { bytes } = page;
  let end = Math.max(length, at);
  // Most of a segment is blank, so large pieces are compared first.
  while (end - at >= BLANK.length && bytes.subarray(end - BLANK.length, end).equals(BLANK)) {
    end -= BLANK.length;
  }
  while (end > at && bytes[end - 1] === 0) end--;
  return end;
}

const BLANK = Buffer.alloc(65536);
