/**
 * The records that are not mutations: MARK, SEAL and PARTITION (record-codec.ts describes their
 * fields).
 */
import type { Page } from './page.ts';
import {
  checkRecord,
  finish,
  lowAt,
  type MARK,
  NOTE_BYTES,
  type PARTITION,
  SEAL,
  sequenceAt,
  typeAt,
  writeFixed,
} from './record-codec.ts';

/**
 * Values of the version field of a SEAL. SURE and START: the next segment was already durable.
 * START: it is named by a start of a member, which may still fail and then remove the segment. Such
 * a SEAL is valid if the manifest has reached that segment, or if the segment exists.
 */
export const UNSURE = { low: 0, high: 0 };
export const SURE = { low: 1, high: 0 };
export const START = { low: 2, high: 0 };

/** Writes a MARK, SEAL or PARTITION. */
export function writeNote(
  page: Page,
  at: number,
  type: typeof MARK | typeof SEAL | typeof PARTITION,
  partition: number,
  sequence: number,
  place: { readonly low: number; readonly high: number },
  seed: number,
): number {
  writeFixed(page, at, type, partition, sequence, place);
  return finish(page, at, at + NOTE_BYTES - 4, seed);
}

/** The end of a segment, and the next segment. */
interface SealedEnd {
  /** Number of the next segment; undefined if none is named. */
  readonly next: number | undefined;
  /** Whether that segment was durable when the SEAL was written. */
  readonly isSure: boolean;
  /** Whether a start has named that segment: then it may be missing. */
  readonly isOfStart: boolean;
  /** Offset of the SEAL that names a segment; equal to `end` if there is none. */
  readonly from: number;
  /** Offset after the last SEAL; `at` if there is none. */
  readonly end: number;
}

/**
 * Reads the SEAL at `at`, if there is one. If there are two in a row, reads the one that names a
 * segment.
 */
export function sealAt(page: Page, at: number, length: number, seed: number): SealedEnd {
  let end = at;
  for (let count = 0; count < 2; count++) {
    const taken = checkRecord(page, end, length, seed);
    if (taken === 0 || typeAt(page, end) !== SEAL) break;
    const next = sequenceAt(page, end);
    const low = lowAt(page, end);
    const from = end;
    end += taken;
    if (next === 0) continue;
    return { next, isSure: low !== UNSURE.low, isOfStart: low === START.low, from, end };
  }
  return { next: undefined, isSure: true, isOfStart: false, from: end, end };
}
