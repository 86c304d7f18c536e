/**
 * A segment: a file of records (record-codec.ts) of the log or of a snapshot. A segment of the log
 * is filled with zeros before it is used, so that disk space for later records is allocated.
 * Numbers are little-endian.
 *
 *     0  frame (../base/frame.ts) of the header: "gridLOG\n", or "gridSNAP" in a snapshot
 *    20  number of the segment in a log, or of the snapshot
 *    24  part of the snapshot, starting with 0; in the log 0
 *    28  length with which the file was created, in bytes; 0 if not specified
 *    32  records, one after another; then zeros to the end
 *
 * A segment of the log keeps the length with which it was created until its last record is a SEAL: a
 * shorter one was cut off.
 *
 * Segments of a log are numbered in the order of use, with gaps: each ends in a SEAL that names the
 * next. The segment's seed is the initial value of its records' checksums, so that a record in the
 * wrong file is detected. Tested by repair.spec.ts.
 */
import { type Viewed, ViewedBytes } from '../base/copy-bytes.ts';
import { writeFrame } from '../base/frame.ts';
import { DATA_FORMAT, fileFault } from './data-format.ts';
import type { Storage } from './storage.ts';

export const LOG = 1;
export const SNAPSHOT = 2;
export const HEADER_BYTES = 32;
/** Maximum length of a segment, in bytes: offsets have 31 bits. */
export const SEGMENT_BYTES_MAX = 2 ** 31 - 1;
/** Maximum number of a segment. */
export const NUMBER_MAX = 2 ** 31 - 1;

const LOG_MAGIC = 'gridLOG\n';
const SNAPSHOT_MAGIC = 'gridSNAP';
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
 * never a segment or is damaged. Rejects as fileFault throws.
 */
export async function segmentIn(storage: Storage, name: string): Promise<SegmentId | undefined> {
  const id = parseSegmentName(name);
  if (id === undefined) return undefined;
  const bytes = new ViewedBytes(HEADER_BYTES);
  const length = await readBeginning(storage, name, bytes);
  return readHeader(storage, name, bytes, length, id).fault === undefined ? id : undefined;
}

/**
 * Reads the beginning of a file. Resolves with the number of bytes read, which is 0 if the file is
 * missing or not readable for this user.
 */
export async function readBeginning(
  storage: Storage,
  name: string,
  { bytes }: Viewed,
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
  const header = new ViewedBytes(HEADER_BYTES);
  const { view } = header;
  view.setUint32(20, number, true);
  view.setUint32(24, part, true);
  view.setUint32(28, createdBytes, true);
  writeFrame(header, HEADER_BYTES, kind === LOG ? LOG_MAGIC : SNAPSHOT_MAGIC, DATA_FORMAT);
  return header.bytes;
}

interface SegmentHeader {
  /** The segment that the header names; undefined if it is damaged. */
  readonly id: SegmentId | undefined;
  /** Length with which the file was created, in bytes; 0 if the header does not specify it. */
  readonly createdBytes: number;
  /** The fault of the header; undefined if there is none. */
  readonly fault: string | undefined;
}

/**
 * Reads the header of the first `bytesRead` bytes of the file, which is to be that of the segment
 * `expected`. Throws as fileFault does.
 */
export function readHeader(
  storage: Pick<Storage, 'path'>,
  name: string,
  from: Viewed,
  bytesRead: number,
  expected?: SegmentId,
): SegmentHeader {
  const { bytes, view } = from;
  const isSnapshot = bytes.toString('latin1', 0, SNAPSHOT_MAGIC.length) === SNAPSHOT_MAGIC;
  const magic = isSnapshot ? SNAPSHOT_MAGIC : LOG_MAGIC;
  const length = Math.min(bytesRead, HEADER_BYTES);
  const fault = fileFault(storage, name, from, length, magic, HEADER_BYTES);
  if (fault !== undefined) return { id: undefined, createdBytes: 0, fault: fault.what };
  const kind: SegmentKind = isSnapshot ? SNAPSHOT : LOG;
  const id = { kind, number: view.getUint32(20, true), part: view.getUint32(24, true) };
  const isOther = expected !== undefined && segmentName(id) !== segmentName(expected);
  const createdBytes = view.getUint32(28, true);
  return { id, createdBytes, fault: isOther ? OTHER_HEADER : undefined };
}

/** A position in the log. */
export interface LogPosition {
  readonly segment: number;
  readonly offset: number;
}
