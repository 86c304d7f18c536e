/**
 * A segment: a file of records (record-codec.ts) of the log or of a snapshot. A segment of the log
 * is filled with zeros before it is used, so that disk space for later records is allocated.
 * Numbers are little-endian.
 *
 *     0  "gridseg\n"
 *     8  format (data-format.ts)
 *    12  kind: 1 log, 2 snapshot
 *    16  number of the segment in a log, or of the snapshot
 *    20  part of the snapshot, starting with 0; in the log 0
 *    24  length with which the file was created, in bytes; 0 if not specified
 *    28  CRC-32C of the preceding 28 bytes
 *    32  records, one after another; then zeros to the end
 *
 * Format 1 had the checksum at 24 and no length. A segment of the log keeps the length with which
 * it was created until its last record is a SEAL: a shorter one was cut off.
 *
 * Segments of a log are numbered in the order of use, with gaps: each ends in a SEAL that names the
 * next. The segment's seed is the initial value of its records' checksums, so that a record in the
 * wrong file is detected. Tested by repair.spec.ts.
 */
import { checksum } from './checksum.ts';
import { DATA_FORMAT } from './data-format.ts';
import { Page } from './page.ts';
import type { Storage } from './storage.ts';

export const LOG = 1;
export const SNAPSHOT = 2;
export const HEADER_BYTES = 32;
/** Maximum length of a segment, in bytes: offsets have 31 bits. */
export const SEGMENT_BYTES_MAX = 2 ** 31 - 1;
/** Maximum number of a segment. */
export const NUMBER_MAX = 2 ** 31 - 1;

const MAGIC = 'gridseg\n';
/** The fault of an intact header of another segment, which no crash can cause. */
const OTHER_HEADER = 'has the header of another segment';

type SegmentKind = typeof LOG | typeof SNAPSHOT;

export interface SegmentId {
  readonly kind: SegmentKind;
  readonly number: number;
  readonly part: number;
}

export function segmentName({ kind, number, part }: SegmentId): string {
  const digits = String(number).padStart(10, '0');
  return kind === LOG ? `log-${digits}` : `snapshot-${digits}-${String(part).padStart(6, '0')}`;
}

/**
 * Returns the segment with this file name; undefined if it is another name or has an invalid
 * number.
 */
export function parseSegmentName(name: string): SegmentId | undefined {
  const [, log, snapshot, part] = /^(?:log-(\d{10})|snapshot-(\d{10})-(\d{6}))$/.exec(name) ?? [];
  const number = Number(log ?? snapshot);
  if (!(number >= 1 && number <= NUMBER_MAX)) return undefined;
  if (log !== undefined) return { kind: LOG, number, part: 0 };
  return { kind: SNAPSHOT, number, part: Number(part) };
}

/**
 * Returns the segment that the file contains. Undefined if it does not have both the name and the
 * header of a segment: as a name becomes durable after the header (segment-maker.ts), the file was
 * never a segment or is damaged.
 */
export async function segmentIn(storage: Storage, name: string): Promise<SegmentId | undefined> {
  const id = parseSegmentName(name);
  if (id === undefined) return undefined;
  const page = new Page(HEADER_BYTES);
  const length = await readBeginning(storage, name, page);
  return headerFault(id, page, length) === undefined ? id : undefined;
}

/**
 * Reads the beginning of a file. Resolves with the number of bytes read, which is 0 if the file is
 * missing or not readable for this user.
 */
export async function readBeginning(
  storage: Storage,
  name: string,
  { bytes }: Page,
): Promise<number> {
  bytes.fill(0);
  const file = await storage.open(name).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EACCES' && error.code !== 'ENOENT') throw error;
    return undefined;
  });
  try {
    return (await file?.read(bytes, 0)) ?? 0;
  } finally {
    await file?.close();
  }
}

/** Returns the initial value for the checksums of the segment's records. */
export function segmentSeed({ kind, number, part }: SegmentId): number {
  return (Math.imul(number, 0x9e3779b1) ^ Math.imul(part + 1, 0x85ebca6b) ^ kind) | 0;
}

export function segmentHeader({ kind, number, part }: SegmentId, createdBytes: number): Buffer {
  const page = new Page(HEADER_BYTES);
  page.bytes.write(MAGIC, 'latin1');
  page.words.set([DATA_FORMAT, kind, number, part, createdBytes], 2);
  page.words[7] = checksum(page, 0, 7, 0);
  return page.bytes;
}

/** Returns the segment that the header names; undefined if the header is damaged. */
export function segmentInHeader(page: Page): SegmentId | undefined {
  const { words } = page;
  if (!isWholeHeader(page)) return undefined;
  return { kind: words[3] as SegmentKind, number: words[4]!, part: words[5]! };
}

/**
 * Returns the length with which the file was created, in bytes; 0 if its intact header does not
 * specify it.
 */
export function createdBytesOf({ words }: Page): number {
  return words[6]! >>> 0;
}

/** Returns the format in the header of the file; undefined if the header is damaged. */
export function formatInHeader(page: Page, length: number): number | undefined {
  return length >= HEADER_BYTES && isWholeHeader(page) ? page.words[2]! : undefined;
}

/** Describes the fault of the header of the file; undefined if it is correct. */
export function headerFault(id: SegmentId, page: Page, length: number): string | undefined {
  if (length < HEADER_BYTES) return 'ends within its header';
  if (!isWholeHeader(page)) return 'has a damaged header';
  const { kind, number, part } = segmentInHeader(page) as SegmentId;
  return kind === id.kind && number === id.number && part === id.part ? undefined : OTHER_HEADER;
}

/**
 * Whether the header is intact. Also recognizes format 1, and later formats in which the checksum
 * stays at its offset.
 */
function isWholeHeader(page: Page): boolean {
  const { bytes, words } = page;
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return false;
  if (words[2] === 1) return words[6] === checksum(page, 0, 6, 0) && words[7] === 0;
  return words[7] === checksum(page, 0, 7, 0);
}

/** A position in the log. */
export interface LogPosition {
  readonly segment: number;
  readonly offset: number;
}
