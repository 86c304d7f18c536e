/**
 * A segment: a file of records (record-codec.ts), of the log or of a snapshot. A segment of the log is filled
 * with zeros before it is used, so that records written later have their place on the disk. Numbers are
 * little-endian.
 *
 *     0  "gridseg\n"
 *     8  format (data-format.ts)
 *    12  kind: 1 log, 2 snapshot
 *    16  number: of the log's segment; of a snapshot, the snapshot's
 *    20  part of the snapshot, from 0; in the log 0
 *    24  length with which the file was made, in bytes; 0 where it is not told
 *    28  CRC-32C of the 28 bytes before
 *    32  records, one after the other; then zeros to the end
 *
 * Format 1 had the checksum at 24 and told no length. A segment of the log keeps the length with which it
 * was made until its last record is a SEAL: a shorter one was cut off.
 *
 * Segments of a log are numbered in the order of use, with gaps: each ends in a SEAL that names the next.
 * The checksum of a record begins from the segment's seed, so that a record in the wrong file is not
 * taken for one of that file.
 */
import { checksum } from './checksum.ts';
import { DATA_FORMAT } from './data-format.ts';
import { Page } from './page.ts';
import type { Storage } from './storage.ts';

export const LOG = 1;
export const SNAPSHOT = 2;
export const HEADER_BYTES = 32;
/** The greatest length of a segment, in bytes: offsets have 31 bits. */
export const SEGMENT_BYTES_MAX = 2 ** 31 - 1;
/** The greatest number that a header has. */
export const NUMBER_MAX = 2 ** 31 - 1;

const MAGIC = 'gridseg\n';
/** The fault of a whole header of another segment, which no crash can have left there. */
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

/** The segment that has this file name; undefined for another name, or a number that no header has. */
export function parseSegmentName(name: string): SegmentId | undefined {
  const [, log, snapshot, part] = /^(?:log-(\d{10})|snapshot-(\d{10})-(\d{6}))$/.exec(name) ?? [];
  const number = Number(log ?? snapshot);
  if (!(number >= 1 && number <= NUMBER_MAX)) return undefined;
  if (log !== undefined) return { kind: LOG, number, part: 0 };
  return { kind: SNAPSHOT, number, part: Number(part) };
}

/**
 * The segment that the file is. Undefined for a file that has not the name and the header of one: as a name
 * becomes durable after the header (segment-maker.ts), it was never a segment, or it is damaged.
 */
export async function segmentIn(storage: Storage, name: string): Promise<SegmentId | undefined> {
  const id = parseSegmentName(name);
  if (id === undefined) return undefined;
  const page = new Page(HEADER_BYTES);
  const length = await readBeginning(storage, name, page);
  return headerFault(id, page, length) === undefined ? id : undefined;
}

/**
 * Reads the beginning of a file. Resolves with its bytes: 0 where it is gone, or is not this user's to read.
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

/** The value from which checksums of the segment's records begin. */
export function segmentSeed({ kind, number, part }: SegmentId): number {
  return (Math.imul(number, 0x9e3779b1) ^ Math.imul(part + 1, 0x85ebca6b) ^ kind) | 0;
}

export function segmentHeader({ kind, number, part }: SegmentId, madeBytes: number): Buffer {
  const page = new Page(HEADER_BYTES);
  page.bytes.write(MAGIC, 'latin1');
  page.words.set([DATA_FORMAT, kind, number, part, madeBytes], 2);
  page.words[7] = checksum(page, 0, 7, 0);
  return page.bytes;
}

/** The segment that the header names; undefined where there is no whole header. */
export function segmentInHeader(page: Page): SegmentId | undefined {
  const { words } = page;
  if (!isWholeHeader(page)) return undefined;
  return { kind: words[3] as SegmentKind, number: words[4]!, part: words[5]! };
}

/** The length with which the file was made, in bytes; 0 where its whole header does not tell. */
export function madeBytesOf({ words }: Page): number {
  return words[6]! >>> 0;
}

/** The format that the header of the file tells; undefined where it is not whole. */
export function formatInHeader(page: Page, length: number): number | undefined {
  return length >= HEADER_BYTES && isWholeHeader(page) ? page.words[2]! : undefined;
}

/** The fault of the header at the beginning of the file; undefined where it is the right one. */
export function headerFault(id: SegmentId, page: Page, length: number): string | undefined {
  if (length < HEADER_BYTES) return 'ends within its header';
  if (!isWholeHeader(page)) return 'has a damaged header';
  const { kind, number, part } = segmentInHeader(page) as SegmentId;
  return kind === id.kind && number === id.number && part === id.part ? undefined : OTHER_HEADER;
}

/** Also of format 1, and of a later one, whose checksum keeps its place. */
function isWholeHeader(page: Page): boolean {
  const { bytes, words } = page;
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return false;
  if (words[2] === 1) return words[6] === checksum(page, 0, 6, 0) && words[7] === 0;
  return words[7] === checksum(page, 0, 7, 0);
}
