/**
 * Finds all records of a segment whose checksums are correct, at any offset, and the gaps between
 * them. After a damaged record, it searches every possible offset for the next one.
 *
 * A value may contain bytes that look like a record. They are skipped together with the damaged
 * record that contains them, provided that the lengths in that record are plausible: it fits, and
 * another record follows it. If only the length field of a record is damaged, its checksum matches
 * when the correct length is tried. Tested by repair.spec.ts.
 */
import type { Viewed } from '../base/copy-bytes.ts';
import { isReservedMap } from '../base/reserved-map.ts';
import { CLEAR, DELETE, EXPIRE, Mutation, OFFER, REMOVE, RETURN, SET } from '../engine/mutation.ts';
import {
  CONTROL_RECORD_BYTES,
  checkRecord,
  isKnownType,
  PARTITION,
  readMutation,
  recordBytesAt,
  SEAL,
  typeAt,
} from './record-codec.ts';
import { sealAt } from './seals.ts';
import { HEADER_BYTES } from './segment.ts';
import { endOfContent, type ReadSegment } from './segment-reader.ts';

/** Time after which the scan yields to the event loop, in ms. */
const SLICE_MS = 5;
/** Steps between two readings of the clock. */
const STEPS_PER_CLOCK_READ = 256;
/** Maximum length of a name in a description, in characters. */
const NAME_LENGTH_MAX = 64;

export interface Pace {
  /** Returns the time of a monotonic clock, in ms. */
  now(): number;
  /** Yields to the event loop. */
  yieldToEventLoop(): Promise<void>;
}

/** A range of bytes that is not blank and contains no valid record. */
export interface Gap {
  readonly offset: number;
  readonly bytes: number;
}

export interface Scanned {
  /** Offset of each record. */
  readonly records: readonly number[];
  readonly gaps: readonly Gap[];
  /** The segment number that the SEAL names; undefined without a SEAL. */
  readonly next: number | undefined;
  /** Whether a start has named that segment: then it may be missing. */
  readonly isNextOfStart: boolean;
  /** Offset after the last record. */
  readonly end: number;
}

export async function scanRecords(segment: ReadSegment, pace: Pace): Promise<Scanned> {
  const { page, length, seed } = segment;
  const records: number[] = [];
  const gaps: Gap[] = [];
  const end = endOfContent(segment, 0);
  let at = HEADER_BYTES;
  let endOfRecords = at;
  let sliceEndMs = pace.now() + SLICE_MS;
  let gapFrom = -1;
  let gapEnd = 0;
  for (let count = 1; at < end; count++) {
    const isCandidate = gapFrom < 0 || mayBegin(page, at);
    const paddedLength = isCandidate ? checkRecord(page, at, length, seed) : 0;
    if (paddedLength === 0) {
      if (gapFrom < 0) {
        gapFrom = at;
        gapEnd = claimedEnd(segment, at, end);
      }
      at += 8;
    } else if (at < gapEnd && !endsAt(segment, gapFrom, at)) {
      // The bytes that look like a record are part of a value: a client may have crafted them.
      at = gapEnd;
    } else {
      if (gapFrom >= 0) gaps.push({ offset: gapFrom, bytes: at - gapFrom });
      gapFrom = -1;
      gapEnd = 0;
      if (typeAt(page, at) === SEAL) {
        const sealed = sealAt(page, at, length, seed);
        return {
          records,
          gaps,
          next: sealed.next,
          isNextOfStart: sealed.isNextOfStart,
          end: sealed.end,
        };
      }
      records.push(at);
      at += paddedLength;
      endOfRecords = at;
    }
    if (count % STEPS_PER_CLOCK_READ !== 0 || pace.now() < sliceEndMs) continue;
    await pace.yieldToEventLoop();
    sliceEndMs = pace.now() + SLICE_MS;
  }
  if (gapFrom >= 0 && end > gapFrom) gaps.push({ offset: gapFrom, bytes: end - gapFrom });
  return { records, gaps, next: undefined, isNextOfStart: false, end: endOfRecords };
}

/** Describes the probable content of a damaged record; undefined if it cannot be determined. */
export function describeRecord({ page, length }: ReadSegment, at: number): string | undefined {
  if (at + recordBytesAt(page, at) > length) return undefined;
  if (typeAt(page, at) === PARTITION) return 'the start of a partition';
  const mutation = new Mutation();
  if (!readMutation(page, at, mutation)) return undefined;
  const { operation, partition, sequence } = mutation;
  const isRemoval = operation === DELETE || operation === CLEAR;
  if (isRemoval && sequence === 0) return 'a tombstone';
  if (operation < OFFER && isReservedMap(mutation.name)) return 'a record of the reserved map';
  const name = quoted(mutation.name.toBuffer());
  const ofKey = `${quoted(mutation.key.toBuffer())} in map ${name}`;
  if (operation === SET) return `a value of ${ofKey}`;
  if (operation === DELETE || operation === EXPIRE) return `the removal of ${ofKey}`;
  if (operation === CLEAR) return partition < 0 ? `the clearing of map ${name}` : undefined;
  const what =
    operation === REMOVE ? 'the removal of ' : operation === RETURN ? 'the return of ' : '';
  return `${what}an item of queue ${name}`;
}

/**
 * Returns the end of the damaged record according to its length field, if its lengths are
 * consistent and followed by another record or nothing; else 0.
 */
function claimedEnd({ page, length, seed }: ReadSegment, at: number, end: number): number {
  if (at + CONTROL_RECORD_BYTES > length || !readMutation(page, at, new Mutation())) return 0;
  const claimed = at + recordBytesAt(page, at);
  if (claimed > length) return 0;
  return claimed >= end || checkRecord(page, claimed, length, seed) !== 0 ? claimed : 0;
}

/**
 * Whether only the length field of the damaged record is wrong: its checksum matches if it ends at
 * `end`.
 */
function endsAt({ page, seed }: ReadSegment, at: number, end: number): boolean {
  const { view } = page;
  const claimed = view.getUint32(at + 4, true);
  let isWhole = false;
  for (let padding = 0; padding < 8 && !isWhole; padding++) {
    view.setUint32(at + 4, end - at - 4 - padding, true);
    isWhole = checkRecord(page, at, end, seed) !== 0;
  }
  view.setUint32(at + 4, claimed, true);
  return isWhole;
}

/**
 * Whether a record could start there, judging by type and length: at most offsets, none can. After
 * damage, records of unknown types are not searched for, as too many offsets would qualify.
 */
function mayBegin(page: Viewed, at: number): boolean {
  return isKnownType(typeAt(page, at)) && recordBytesAt(page, at) > 0;
}

function quoted(bytes: Buffer): string {
  const text = bytes.toString();
  const shown = text.length > NAME_LENGTH_MAX ? `${text.slice(0, NAME_LENGTH_MAX)}…` : text;
  return JSON.stringify(shown);
}
