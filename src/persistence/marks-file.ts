/**
 * The file `wan-marks` contains the marks of all persistent queues (../engine/durable-queues.ts). It
 * is written as a whole, and is valid if the manifest says so. The file `wan-marks-unsynced` has
 * the same format. It is written more often but not synced, which is enough to survive the end of
 * the process: if it is complete, the higher mark of both files counts for each partition of a
 * queue. It belongs to one process: a start removes it before the log continues, as a power loss
 * may have lost sequences up to its marks. Both are framed files (framed-file.ts), "gridMARK".
 * Numbers are little-endian.
 *
 *    20  number of partitions, at 24 number of queues
 *    28  for each queue: its name, a text (../base/fields.ts); then the mark of each partition, a double
 *
 * Tested by queue-files.spec.ts.
 */

import { FieldReader, FieldWriter, textBytes } from '../base/fields.ts';
import { FRAME_BYTES } from '../base/frame.ts';
import { counted } from '../base/quantities.ts';
import { replaceFile } from './atomic-file.ts';
import { DamagedData } from './damage.ts';
import { framed, readFramed } from './framed-file.ts';
import type { Storage } from './storage.ts';

export const MARKS = 'wan-marks';
export const UNSYNCED_MARKS = 'wan-marks-unsynced';

const MAGIC = 'gridMARK';

/** The marks of queues, by the queues' names. */
export type Marks = ReadonlyMap<string, Float64Array>;

/** Writes the marks durably. Rejects as writeAtomically does. */
export async function writeMarks(
  storage: Storage,
  partitionCount: number,
  marks: Marks,
): Promise<void> {
  const bytes = bytesOf(partitionCount, marks);
  await replaceFile(storage, MARKS, bytes);
}

/** Writes the unsynced marks. Rejects with the system's error. */
export async function writeUnsyncedMarks(
  storage: Storage,
  partitionCount: number,
  marks: Marks,
): Promise<void> {
  const bytes = bytesOf(partitionCount, marks);
  await replaceFile(storage, UNSYNCED_MARKS, bytes, { isSynced: false });
}

/**
 * Reads the unsynced marks. It returns no marks if the file is missing or damaged by a power loss.
 * Rejects as checkFormat throws, or with the system's error.
 */
export async function readUnsyncedMarks(storage: Storage, partitionCount: number): Promise<Marks> {
  try {
    return await readMarks(storage, partitionCount, UNSYNCED_MARKS);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (isMissing || error instanceof DamagedData) return new Map();
    throw error;
  }
}

/** Reads the marks. Rejects as readFramed does. */
export async function readMarks(
  storage: Storage,
  partitionCount: number,
  name = MARKS,
): Promise<Marks> {
  const { bytes } = await readFramed(storage, name, MAGIC);
  const fault = (what: string) => new DamagedData(storage, name, reader.at, what);
  const reader = new FieldReader(bytes, FRAME_BYTES, fault);
  const stored = reader.word();
  if (stored !== partitionCount) throw fault(`has the marks of ${counted(stored, 'partition')}`);
  const marks = new Map<string, Float64Array>();
  for (let queues = reader.word(); queues > 0; queues--) {
    marks.set(reader.text().toString(), reader.counts(partitionCount));
  }
  reader.end();
  return marks;
}

function bytesOf(partitionCount: number, marks: Marks): Buffer {
  const pieces = [new FieldWriter(Buffer.alloc(8), 0).word(partitionCount).word(marks.size).bytes];
  for (const [name, own] of marks) {
    pieces.push(
      textBytes(name),
      new FieldWriter(Buffer.alloc(own.byteLength), 0).counts(own).bytes,
    );
  }
  return framed(MAGIC, pieces).bytes;
}
