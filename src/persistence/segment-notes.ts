/** Records that are no mutations: MARK, SEAL and PARTITION, whose fields record-codec.ts describes. */
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
 * The place in a SEAL: whether the next segment was durable before. With START it was, and a start of a
 * member names it, which may fail: such a SEAL counts where the manifest has reached that segment, or the
 * segment is there. A start that fails before its manifest is written may remove the segment.
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

/** The end of a segment, and the segment that follows. */
interface SealedEnd {
  /** Number of the next segment; undefined for none. */
  readonly next: number | undefined;
  /** Whether that segment was durable before. */
  readonly isSure: boolean;
  /** Whether a start has named it: then it may be missing. */
  readonly isOfStart: boolean;
  /** Offset of the SEAL that names a segment; of none, the same as `end`. */
  readonly from: number;
  /** Offset behind the last SEAL; `at` where there is none. */
  readonly end: number;
}

/** Reads the SEAL at `at`, if there is one; of two in a row, the one that names a segment. */
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
