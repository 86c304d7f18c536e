/**
 * Decides whether the records of the log end, at the first invalid one, because of damage:
 *
 * - The end is before the position in the manifest or the file `log-end`, or its segment is shorter
 *   than it was created: damage.
 * - Only zeros follow, and no later segment has a record: the end of the log.
 * - A later MARK, or the manifest, shows that this position had been durable: damage.
 * - A later record follows, the machine has not rebooted since the log was written, and the files
 *   are not copies: damage, because then all written bytes are present, in order, except for the
 *   end of the last write.
 * - Otherwise: the torn end of the log, which was never synced. It is truncated.
 *
 * Tested by recovery.spec.ts.
 */
import { DamagedData } from './damage.ts';
import { isBefore, provenEnd } from './log-end-file.ts';
import type { Manifest } from './manifest.ts';
import { checkRecord, highAt, lowAt, MARK, typeAt } from './record-codec.ts';
import { HEADER_BYTES, type LogPosition, type SegmentId, segmentName } from './segment.ts';
import { endOfContent, type ReadSegment, SegmentReader } from './segment-reader.ts';
import type { Storage } from './storage.ts';

/**
 * Checks the length of an unsealed segment: it must be as long as it was created, unless its length
 * was never durable. Rejects with DamagedData.
 */
export async function checkLength(
  storage: Storage,
  segment: ReadSegment,
  at: number,
  manifest: Manifest,
  isLengthDurable: boolean,
): Promise<void> {
  if (segment.length >= segment.createdBytes) return;
  if (!isLengthDurable && !(await provenEnd(storage, manifest)).hasAllWritten) return;
  throw damageIn(storage, segment, Math.min(at, segment.length), 'is cut off');
}

/**
 * Checks the end of the log's records, at offset `at` of the segment; `later` are the segments
 * after it. Resolves with the number of torn bytes. Rejects with DamagedData, or with the system's
 * error.
 */
export async function tornBytesAt(
  storage: Storage,
  segment: ReadSegment,
  at: number,
  manifest: Manifest,
  later: readonly SegmentId[],
): Promise<number> {
  const position = { segment: segment.id.number, offset: at };
  const { position: reached, synced, hasAllWritten } = await provenEnd(storage, manifest);
  if (isBefore(position, synced)) throw damageIn(storage, segment, at);
  if (isBefore(position, reached)) throw damageIn(storage, segment, at, UNSYNCED_LOST);
  // An interrupted start may have linked the log to a segment that received no records.
  const isAsStopped = at === HEADER_BYTES || !isBefore(reached, position);
  if (manifest.isStopped && !isAsStopped) throw damageIn(storage, segment, at);
  const unsyncedFrom = hasAllWritten ? undefined : position;
  if (hasRecord(segment, at, true, unsyncedFrom)) throw damageIn(storage, segment, at);
  let torn = endOfContent(segment, at) - at;
  // The later segments need another reader, because this segment's page is still in use.
  const reader = new SegmentReader(storage);
  for (const id of later) {
    const other = await reader.read(id, undefined);
    if (hasRecord(other, HEADER_BYTES, true, unsyncedFrom)) throw damageIn(storage, segment, at);
    torn += endOfContent(other, HEADER_BYTES) - HEADER_BYTES;
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
 * Whether there is a valid record at `at`, or with `isAnywhere` at any offset from there. With
 * `place` only a MARK of a later position is accepted.
 */
export function hasRecord(
  segment: ReadSegment,
  at: number,
  isAnywhere: boolean,
  position?: LogPosition,
): boolean {
  const { page, length, seed } = segment;
  const end = isAnywhere ? endOfContent(segment, at) : length;
  for (let from = at; from < end; from += 8) {
    if (page.view.getInt32(from, true) !== 0 && checkRecord(page, from, length, seed) !== 0) {
      if (position === undefined) return true;
      const synced = { segment: highAt(page, from), offset: lowAt(page, from) };
      if (typeAt(page, from) === MARK && isBefore(position, synced)) return true;
    }
    if (!isAnywhere) return false;
  }
  return false;
}

/**
 * The fault of lost writes although the machine has not rebooted: its disk may have been detached.
 */
const UNSYNCED_LOST =
  'ends before bytes that were written but not synced (was its disk detached by force? ' +
  'See docs/durability.md),';
