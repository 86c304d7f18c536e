/**
 * Finds all records of a segment whose checksums are right, wherever they lie, and the gaps between them.
 * Behind a record that is not whole, it looks for the next one at every place where a record could begin.
 *
 * A value may contain bytes that look like a record. They are skipped with the damaged record that they
 * belong to, as long as the lengths in that record are plausible: it fits, and another record follows it.
 * If only the length of a damaged record is wrong, its checksum is right with the right length.
 */
import { CLEAR, DELETE, EXPIRE, Mutation, REMOVE, RETURN, SET } from '../engine/mutation.ts';
import type { Page } from './page.ts';
import {
  checkRecord,
  isMutation,
  lengthAt,
  MARK,
  NOTE_BYTES,
  PARTITION,
  readMutation,
  SEAL,
  typeAt,
} from './record-codec.ts';
import { HEADER_BYTES } from './segment.ts';
import { sealAt } from './segment-notes.ts';
import type { ReadSegment } from './segment-reader.ts';

/** The event loop gets its turn after this long, in ms. */
const SLICE_MS = 5;
const STEPS_PER_LOOK = 256;
/** Length up to which a description shows a name, in characters. */
const NAME_LENGTH_MAX = 64;

export interface Pace {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Resolves once the event loop has had its turn. */
  breathe(): Promise<void>;
}

/** Bytes that are not blank and contain no whole record. */
export interface Gap {
  readonly offset: number;
  readonly bytes: number;
}

export interface Scanned {
  /** Offset of each record. */
  readonly records: readonly number[];
  readonly gaps: readonly Gap[];
  /** The number that its SEAL names; undefined without a SEAL. */
  readonly next: number | undefined;
  /** Whether a start has named it: then it may be missing. */
  readonly isOfStart: boolean;
  /** Offset behind the last record. */
  readonly end: number;
}

export async function scanRecords(segment: ReadSegment, pace: Pace): Promise<Scanned> {
  const { page, length, seed } = segment;
  const records: number[] = [];
  const gaps: Gap[] = [];
  const end = endOfBytes(page, length);
  let at = HEADER_BYTES;
  let endOfRecords = at;
  let sliceEndMs = pace.now() + SLICE_MS;
  let gapFrom = -1;
  let gapEnd = 0;
  for (let count = 1; at < end; count++) {
    const isCandidate = gapFrom < 0 || mayBegin(page, at);
    const taken = isCandidate ? checkRecord(page, at, length, seed) : 0;
    if (taken === 0) {
      if (gapFrom < 0) {
        gapFrom = at;
        gapEnd = claimedEnd(segment, at, end);
      }
      at += 8;
    } else if (at < gapEnd && !endsAt(segment, gapFrom, at)) {
      // The bytes that look like a record lie in a value: its author may have made them.
      at = gapEnd;
    } else {
      if (gapFrom >= 0) gaps.push({ offset: gapFrom, bytes: at - gapFrom });
      gapFrom = -1;
      gapEnd = 0;
      if (typeAt(page, at) === SEAL) {
        const sealed = sealAt(page, at, length, seed);
        return { records, gaps, next: sealed.next, isOfStart: sealed.isOfStart, end: sealed.end };
      }
      records.push(at);
      at += taken;
      endOfRecords = at;
    }
    if (count % STEPS_PER_LOOK !== 0 || pace.now() < sliceEndMs) continue;
    await pace.breathe();
    sliceEndMs = pace.now() + SLICE_MS;
  }
  if (gapFrom >= 0 && end > gapFrom) gaps.push({ offset: gapFrom, bytes: end - gapFrom });
  return { records, gaps, next: undefined, isOfStart: false, end: endOfRecords };
}

/** The content that a damaged record seems to have had; undefined where that cannot be told. */
export function describeRecord({ page, length }: ReadSegment, at: number): string | undefined {
  if (at + lengthAt(page, at) > length) return undefined;
  if (typeAt(page, at) === PARTITION) return 'where a partition begins';
  if (!isMutation(page, at)) return undefined;
  const mutation = new Mutation();
  readMutation(page, at, mutation);
  const { operation, partition, sequence } = mutation;
  const isRemoval = operation === DELETE || operation === CLEAR;
  if (isRemoval && sequence === 0) return 'what is remembered of a removal';
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
 * The end of the damaged record by its length field, if its lengths are consistent and another record, or
 * nothing, follows; else 0.
 */
function claimedEnd({ page, length, seed }: ReadSegment, at: number, end: number): number {
  if (at + NOTE_BYTES > length || !isMutation(page, at)) return 0;
  const claimed = at + ((lengthAt(page, at) + 7) & ~7);
  if (claimed > length) return 0;
  return claimed >= end || checkRecord(page, claimed, length, seed) !== 0 ? claimed : 0;
}

/** Whether only the length field of the damaged record is wrong: it is whole if it ends at `end`. */
function endsAt({ page, seed }: ReadSegment, at: number, end: number): boolean {
  const { words } = page;
  const place = (at >> 2) + 1;
  const claimed = words[place]!;
  let isWhole = false;
  for (let filling = 0; filling < 8 && !isWhole; filling++) {
    words[place] = end - at - filling;
    isWhole = checkRecord(page, at, end, seed) !== 0;
  }
  words[place] = claimed;
  return isWhole;
}

/**
 * Whether a record could begin there, by its type and length: at most places none could. Of a type that this
 * version does not know, none is looked for behind damage, as too many places could begin one.
 */
function mayBegin(page: Page, at: number): boolean {
  const type = typeAt(page, at);
  const isKnown = (type >= SET && type <= RETURN) || (type >= MARK && type <= PARTITION);
  return isKnown && lengthAt(page, at) > 0;
}

/** The offset behind the last byte that is not zero. */
function endOfBytes({ words, bytes }: Page, length: number): number {
  let end = length;
  while ((end & 3) !== 0 && bytes[end - 1] === 0) end--;
  if ((end & 3) !== 0) return end;
  let word = end >> 2;
  while (word > 0 && words[word - 1] === 0) word--;
  return word << 2;
}

function quoted(bytes: Buffer): string {
  const text = bytes.toString();
  const shown = text.length > NAME_LENGTH_MAX ? `${text.slice(0, NAME_LENGTH_MAX)}…` : text;
  return JSON.stringify(shown);
}
