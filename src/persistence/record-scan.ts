/**
 * All records of a segment whose checksums hold, wherever they lie, and the gaps between them. Behind a
 * record that is not whole the next one is looked for at every place where one could begin.
 */
import { CLEAR, DELETE, EXPIRE, Mutation, REMOVE, RETURN, SET } from '../engine/mutation.ts';
import {
  checkRecord,
  isMutation,
  lengthAt,
  MARK,
  PARTITION,
  type Page,
  readMutation,
  SEAL,
  sequenceAt,
  typeAt,
} from './record-codec.ts';
import { HEADER_BYTES } from './segment.ts';
import type { ReadSegment } from './segment-reader.ts';

/** The event loop gets its turn after this long, in ms. */
const SLICE_MS = 5;
const STEPS_PER_LOOK = 256;
/** Of a name in a description, in characters. */
const NAME_LENGTH_MAX = 64;

export interface Pace {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Resolves once the event loop has had its turn. */
  breathe(): Promise<void>;
}

/** A stretch without a whole record, which is not blank. */
export interface Gap {
  readonly offset: number;
  readonly bytes: number;
}

export interface Scanned {
  /** Where each record begins. */
  readonly records: readonly number[];
  readonly gaps: readonly Gap[];
  /** The number that its SEAL names; undefined without a SEAL. */
  readonly next: number | undefined;
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
  for (let count = 1; at < end; count++) {
    const isCandidate = gapFrom < 0 || mayBegin(page, at);
    const taken = isCandidate ? checkRecord(page, at, length, seed) : 0;
    if (taken === 0) {
      if (gapFrom < 0) gapFrom = at;
      at += 8;
    } else {
      if (gapFrom >= 0) gaps.push({ offset: gapFrom, bytes: at - gapFrom });
      gapFrom = -1;
      if (typeAt(page, at) === SEAL) {
        return { records, gaps, next: sequenceAt(page, at), end: at + taken };
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
  return { records, gaps, next: undefined, end: endOfRecords };
}

/** What a record that is not whole seems to have held; undefined where that cannot be told. */
export function describeRecord({ page, length }: ReadSegment, at: number): string | undefined {
  if (at + lengthAt(page, at) > length) return undefined;
  if (typeAt(page, at) === PARTITION) return 'where a partition begins';
  if (!isMutation(page, at)) return undefined;
  const mutation = new Mutation();
  readMutation(page, at, mutation);
  const { operation, partition } = mutation;
  const name = quoted(mutation.name.toBuffer());
  const ofKey = `${quoted(mutation.key.toBuffer())} in map ${name}`;
  if (operation === SET) return `a value of ${ofKey}`;
  if (operation === DELETE || operation === EXPIRE) return `the removal of ${ofKey}`;
  if (operation === CLEAR) return partition < 0 ? `the clearing of map ${name}` : undefined;
  const what =
    operation === REMOVE ? 'the removal of ' : operation === RETURN ? 'the return of ' : '';
  return `${what}an item of queue ${name}`;
}

/** Whether what lies there could be the begin of a record at all: most bytes could not. */
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
