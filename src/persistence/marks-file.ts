/**
 * The file `wan-marks` contains the marks of all persistent queues (../engine/durable-queues.ts). It
 * is written as a whole, and is valid if the manifest says so. The file `wan-marks-unsynced` has
 * the same format. It is written more often but not synced, which is enough to survive the end of
 * the process: if it is complete, the higher mark of both files counts for each partition of a
 * queue. It belongs to one process: a start removes it before the log continues, as a power loss
 * may have lost sequences up to its marks. Numbers are little-endian.
 *
 *     0  "gridmark"
 *     8  CRC-32C of all that follows
 *    12  format (data-format.ts)
 *    16  number of partitions, at 20 number of queues
 *    24  for each queue: length of its name in bytes, four zero bytes, the name in UTF-8, padded with
 *        zeros to a multiple of 8; then the mark of each partition, a double
 *
 * Tested by queue-files.spec.ts.
 */

import { writeAtomically } from './atomic-file.ts';
import { checksum } from './checksum.ts';
import { DamagedData } from './damage.ts';
import { checkFormat, DATA_FORMAT } from './data-format.ts';
import { Page } from './page.ts';
import type { Storage, StoredFile } from './storage.ts';

export const MARKS = 'wan-marks';
export const UNSYNCED_MARKS = 'wan-marks-unsynced';

const MAGIC = 'gridmark';
const HEADER_BYTES = 24;
const NAME_HEAD_BYTES = 8;
/**
 * Maximum length of a file, in bytes. A thousand queues with the maximum number of partitions need
 * less, so a longer file is damaged.
 */
const FILE_BYTES_MAX = 268_435_456;

/** The marks of queues, by the queues' names. */
export type Marks = ReadonlyMap<string, Float64Array>;

/** Writes the marks durably. Rejects as writeAtomically does. */
export async function writeMarks(
  storage: Storage,
  partitionCount: number,
  marks: Marks,
): Promise<void> {
  const { bytes } = pageOf(partitionCount, marks);
  await writeAtomically(storage, MARKS, (file) => file.write(bytes, 0, bytes.length, 0));
}

/** Writes the unsynced marks. Rejects with the system's error. */
export async function writeUnsyncedMarks(
  storage: Storage,
  partitionCount: number,
  marks: Marks,
): Promise<void> {
  const { bytes } = pageOf(partitionCount, marks);
  const fill = (file: StoredFile) => file.write(bytes, 0, bytes.length, 0);
  await writeAtomically(storage, UNSYNCED_MARKS, fill, { isSynced: false });
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

/** Reads the marks. Rejects with DamagedData, as checkFormat throws, or with the system's error. */
export async function readMarks(
  storage: Storage,
  partitionCount: number,
  name = MARKS,
): Promise<Marks> {
  const file = await storage.open(name);
  const { length } = file;
  let page: Page;
  try {
    page = await readPage(storage, file);
  } finally {
    await file.close();
  }
  const { words } = page;
  // Every length is a multiple of 8. Otherwise the bytes after the last word would not be checked.
  const isWhole = length % 8 === 0 && words[2] === checksum(page, 3, length >> 2, 0);
  if (!isWhole) throw new DamagedData(storage, name, 8, 'has a wrong checksum');
  checkFormat(storage, name, words[3]!);
  const marks = marksIn(page, length, partitionCount);
  if (marks === undefined) throw new DamagedData(storage, name, 16, 'has wrong fields');
  return marks;
}

async function readPage(storage: Storage, file: StoredFile): Promise<Page> {
  const { name, length } = file;
  const header = Buffer.alloc(HEADER_BYTES);
  await file.read(header, 0);
  const hasHeader = length >= HEADER_BYTES && header.toString('latin1', 0, 8) === MAGIC;
  if (!hasHeader) throw new DamagedData(storage, name, 0, 'has no valid header');
  if (length > FILE_BYTES_MAX) {
    throw new DamagedData(storage, name, 0, `has a wrong length of ${length} bytes`);
  }
  const page = new Page(padded(length));
  page.bytes.fill(0);
  await file.read(page.bytes.subarray(0, length), 0);
  return page;
}

function pageOf(partitionCount: number, marks: Marks): Page {
  const names = [...marks.keys()].map((name) => Buffer.from(name));
  const fixed = HEADER_BYTES + names.length * (NAME_HEAD_BYTES + partitionCount * 8);
  const page = new Page(names.reduce((sum, name) => sum + padded(name.length), fixed));
  const { bytes, words, doubles } = page;
  bytes.fill(0);
  bytes.write(MAGIC, 'latin1');
  words.set([DATA_FORMAT, partitionCount, names.length], 3);
  let at = HEADER_BYTES;
  for (const [index, own] of [...marks.values()].entries()) {
    const name = names[index]!;
    words[at >> 2] = name.length;
    name.copy(bytes, at + NAME_HEAD_BYTES);
    at += NAME_HEAD_BYTES + padded(name.length);
    doubles.set(own, at >> 3);
    at += partitionCount * 8;
  }
  words[2] = checksum(page, 3, words.length, 0);
  return page;
}

/** Returns the marks, or undefined if lengths are inconsistent or the partition count differs. */
function marksIn({ bytes, words, doubles }: Page, length: number, partitions: number) {
  if (words[4] !== partitions) return undefined;
  const marks = new Map<string, Float64Array>();
  let at = HEADER_BYTES;
  for (let queue = 0; queue < words[5]!; queue++) {
    if (at + NAME_HEAD_BYTES > length) return undefined;
    const nameEnd = at + NAME_HEAD_BYTES + words[at >> 2]!;
    const end = padded(nameEnd) + partitions * 8;
    if (nameEnd < at || end > length) return undefined;
    const name = bytes.toString('utf8', at + NAME_HEAD_BYTES, nameEnd);
    const own = doubles.slice(padded(nameEnd) >> 3, end >> 3);
    if (!own.every((mark) => mark >= 0)) return undefined;
    marks.set(name, own);
    at = end;
  }
  return at === length ? marks : undefined;
}

function padded(length: number): number {
  return (length + 7) & ~7;
}
