/**
 * Judges the place where the records of the log end, which is the first that is not whole:
 *
 * - It lies before the place that the manifest or the file `log-end` tells, or its segment is
 *   shorter than it was made: damage.
 * - Only zeros follow, and no later segment has a record: the end of the log.
 * - A later MARK, or the manifest, says that this place had been durable: damage.
 * - Any later record follows, and the machine has run on since the log was written, into these very files:
 *   damage, as then all written bytes are there, in order, except for the end of the last write.
 * - Otherwise: the torn end of the log, which was never synced. It is cut off.
 */
import { DamagedData } from './damage.ts';
import { isBefore, provenEnd } from './log-end-file.ts';
import type { LogPlace } from './log-place.ts';
import type { Manifest } from './manifest.ts';
import { checkRecord, highAt, lowAt, MARK, typeAt } from './record-codec.ts';
import { HEADER_BYTES, type SegmentId, segmentName } from './segment.ts';
import { type ReadSegment, SegmentReader } from './segment-reader.ts';
import type { Storage } from './storage.ts';

/** A segment that is not sealed is as long as it was made, unless its length was never durable. */
export async function checkLength(
  storage: Storage,
  segment: ReadSegment,
  at: number,
  manifest: Manifest,
  isSure: boolean,
): Promise<void> {
  if (segment.length >= segment.madeBytes) return;
  if (!isSure && !(await provenEnd(storage, manifest)).hasAllWritten) return;
  throw damageIn(storage, segment, Math.min(at, segment.length), 'is cut off');
}

/**
 * Judges the end of the log's records, at `at` of the segment; `later` are the segments after it. Resolves
 * with the torn bytes. Rejects with DamagedData where it is damage, or with the system's error.
 */
export async function tornBytesAt(
  storage: Storage,
  segment: ReadSegment,
  at: number,
  manifest: Manifest,
  later: readonly SegmentId[],
): Promise<number> {
  const place = { segment: segment.id.number, offset: at };
  const { place: known, synced, hasAllWritten } = await provenEnd(storage, manifest);
  if (isBefore(place, synced)) throw damageIn(storage, segment, at);
  if (isBefore(place, known)) throw damageIn(storage, segment, at, UNSYNCED_LOST);
  // An interrupted start may have led on to a segment to which nothing was written.
  const isAsStopped = at === HEADER_BYTES || !isBefore(known, place);
  if (manifest.isStopped && !isAsStopped) throw damageIn(storage, segment, at);
  const proves = hasAllWritten ? undefined : place;
  if (hasRecord(segment, at, true, proves)) throw damageIn(storage, segment, at);
  let torn = lastByte(segment, at) - at;
  // This segment's page must stay: another reader reads the later ones.
  const reader = new SegmentReader(storage);
  for (const id of later) {
    const other = await reader.read(id, undefined);
    if (hasRecord(other, HEADER_BYTES, true, proves)) throw damageIn(storage, segment, at);
    torn += lastByte(other, HEADER_BYTES) - HEADER_BYTES;
  }
  return torn;
}

export function damageIn(
  storage: Storage,
  { id }: ReadSegment,
  at: number,
  what = 'is damaged',
): DamagedData {
  return new DamagedData(storage, segmentName(id), at, what);
}

/**
 * Whether there is a whole record at `at`, or with `isAnywhere` at any place from there on. With `place`
 * only a MARK of a later place counts.
 */
export function hasRecord(
  { page, length, seed }: ReadSegment,
  at: number,
  isAnywhere: boolean,
  place?: LogPlace,
): boolean {
  const end = isAnywhere ? lastByte({ page, length }, at) : length;
  for (let from = at; from < end; from += 8) {
    if (page.words[from >> 2] !== 0 && checkRecord(page, from, length, seed) !== 0) {
      if (place === undefined) return true;
      const segment = highAt(page, from);
      const isLater = segment === place.segment ? lowAt(page, from) > place.offset : true;
      if (typeAt(page, from) === MARK && segment >= place.segment && isLater) return true;
    }
    if (!isAnywhere) return false;
  }
  return false;
}

/** The offset behind the last byte, from `at` on, that is not zero. */
function lastByte({ page, length }: Pick<ReadSegment, 'page' | 'length'>, at: number): number {
  const { bytes } = page;
  let end = Math.max(length, at);
  // Most of a segment is blank: whole pieces are compared first.
  while (end - at >= BLANK.length && bytes.subarray(end - BLANK.length, end).equals(BLANK)) {
    end -= BLANK.length;
  }
  while (end > at && bytes[end - 1] === 0) end--;
  return end;
}

const BLANK = Buffer.alloc(65536);
/** The machine has not restarted, but its disk may have been away. */
const UNSYNCED_LOST =
  'ends before bytes that were written and not synced (was its disk detached by force? ' +
  'docs/durability.md has what to do),';
