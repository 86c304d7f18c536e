/** The SEAL of a segment (record-codec.ts describes its fields). Tested by unknown-records.spec.ts. */
import type { Viewed } from '../base/copy-bytes.ts';
import { checkRecord, lowAt, SEAL, sequenceAt, typeAt } from './record-codec.ts';

/**
 * Values of the version field of a SEAL: whether the next segment was already durable. With
 * NEXT_OF_START it was, and it is named by a start of a member, which may still fail and then
 * remove it. Such a SEAL is valid if the manifest has reached that segment, or if the segment
 * exists.
 */
export const NEXT_NOT_DURABLE = { low: 0, high: 0 };
export const NEXT_DURABLE = { low: 1, high: 0 };
export const NEXT_OF_START = { low: 2, high: 0 };

/** The end of a segment, and the next segment. */
interface SealedEnd {
  /** Number of the next segment; undefined if none is named. */
  readonly next: number | undefined;
  /** Whether that segment was durable when the SEAL was written. */
  readonly isNextDurable: boolean;
  /** Whether a start has named that segment: then it may be missing. */
  readonly isNextOfStart: boolean;
  /** Offset of the SEAL that names a segment; equal to `end` if there is none. */
  readonly from: number;
  /** Offset after the last SEAL; `at` if there is none. */
  readonly end: number;
}

/**
 * Reads the SEAL at `at`, if there is one. If there are two in a row, reads the one that names a
 * segment.
 */
export function sealAt(page: Viewed, at: number, length: number, seed: number): SealedEnd {
  let end = at;
  for (let count = 0; count < 2; count++) {
    const paddedLength = checkRecord(page, end, length, seed);
    if (paddedLength === 0 || typeAt(page, end) !== SEAL) break;
    const next = sequenceAt(page, end);
    const low = lowAt(page, end);
    const from = end;
    end += paddedLength;
    if (next === 0) continue;
    return {
      next,
      isNextDurable: low !== NEXT_NOT_DURABLE.low,
      isNextOfStart: low === NEXT_OF_START.low,
      from,
      end,
    };
  }
  return { next: undefined, isNextDurable: true, isNextOfStart: false, from: end, end };
}
