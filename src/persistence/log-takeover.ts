/**
 * Takes over the log of an earlier process: makes it durable, truncates its tail, and links it to a
 * new segment.
 *
 * A start may fail or be killed between any two of these steps, and the next start links to another
 * segment by overwriting the SEAL. So the bytes after the SEAL are truncated only when the manifest
 * refers to the new segment. Until then the file keeps its full length, so that a SEAL torn by a
 * power loss counts as the torn end of the log. Tested by compaction.spec.ts.
 */

import { ViewedBytes } from '../base/copy-bytes.ts';
import type { LogFiles } from './log-files.ts';
import { CONTROL_RECORD_BYTES, SEAL, writeControlRecord } from './record-codec.ts';
import type { Recovered } from './recovery.ts';
import { NEXT_DURABLE, NEXT_OF_START } from './seals.ts';
import { LOG, type LogPosition, parseSegmentName, segmentName, segmentSeed } from './segment.ts';
import type { Storage } from './storage.ts';

/** Bytes of a segment that are retained after the end of the log, for two SEALs. */
const TWO_SEALS_BYTES = 2 * CONTROL_RECORD_BYTES;

/**
 * Syncs the log of the earlier process, and notes the lengths of its files. Its last writes may be
 * visible without being durable: records, which readers will see from now on, and the manifest,
 * without which the files that it does not name would still count.
 */
export async function syncRecovered(
  storage: Storage,
  { end, manifest, leftOver }: Pick<Recovered, 'end' | 'manifest' | 'leftOver'>,
  files: LogFiles,
): Promise<void> {
  await storage.syncDirectory();
  if (end === undefined || manifest === undefined) return;
  const obsolete = new Set(leftOver);
  for (const name of await storage.list()) {
    const id = parseSegmentName(name);
    if (id?.kind !== LOG || id.number > end.segment || id.number < manifest.firstSegment) continue;
    const file = await storage.open(name);
    try {
      await file.sync();
      if (!obsolete.has(name)) files.set(id.number, file.length);
    } finally {
      await file.close();
    }
  }
}

/**
 * Seals the end of the log and truncates the torn and the blank bytes after it, which makes room on
 * a full disk. Resolves with the new end of the log.
 */
export async function truncateTail(
  storage: Storage,
  { end, isSealed }: { readonly end: LogPosition; readonly isSealed: boolean },
  files: LogFiles,
): Promise<LogPosition> {
  const file = await storage.open(logName(end));
  try {
    const retainedBytes = end.offset + (isSealed ? CONTROL_RECORD_BYTES : TWO_SEALS_BYTES);
    if (file.length <= retainedBytes) return end;
    if (isSealed) {
      await file.truncate(retainedBytes);
      return end;
    }
    const page = new ViewedBytes(TWO_SEALS_BYTES);
    page.bytes.fill(0);
    const paddedLength = writeControlRecord(page, 0, SEAL, 0, 0, NEXT_DURABLE, seedOf(end));
    await file.write(page.bytes, 0, TWO_SEALS_BYTES, end.offset);
    // The SEAL must be durable first: an unsealed segment that is shorter than its full length is
    // damaged.
    await file.sync();
    await file.truncate(retainedBytes);
    await file.sync();
    return { segment: end.segment, offset: end.offset + paddedLength };
  } finally {
    files.set(end.segment, file.length);
    await file.close();
  }
}

/** Writes a SEAL at the end of the log that names the durable segment `next`, and syncs it. */
export async function linkSegment(
  storage: Storage,
  end: LogPosition,
  next: number,
  files: LogFiles,
): Promise<void> {
  const page = new ViewedBytes(CONTROL_RECORD_BYTES);
  writeControlRecord(page, 0, SEAL, 0, next, NEXT_OF_START, seedOf(end));
  const file = await storage.open(logName(end));
  try {
    await file.write(page.bytes, 0, CONTROL_RECORD_BYTES, end.offset);
    await file.sync();
  } finally {
    files.set(end.segment, file.length);
    await file.close();
  }
}

/**
 * Truncates the bytes after the SEAL of `linkSegment`, once that is valid. Rejects with the
 * system's error.
 */
export async function truncateAfterSeal(
  storage: Storage,
  end: LogPosition,
  files: LogFiles,
): Promise<void> {
  const file = await storage.open(logName(end));
  try {
    const sealed = end.offset + CONTROL_RECORD_BYTES;
    if (file.length > sealed) await file.truncate(sealed);
  } finally {
    files.set(end.segment, file.length);
    await file.close();
  }
}

function logName({ segment }: LogPosition): string {
  return segmentName({ kind: LOG, number: segment, part: 0 });
}

function seedOf({ segment }: LogPosition): number {
  return segmentSeed({ kind: LOG, number: segment, part: 0 });
}
