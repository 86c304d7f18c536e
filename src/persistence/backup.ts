/**
 * Copies the data as of one point in time to another directory while the member serves requests.
 * The point in time is a position in the log: the backup contains the manifest's snapshot and the
 * log up to that position, regardless of later writes. Segments of the log are append-only, so they
 * can be copied afterwards. The caller that chooses the position prevents their removal and
 * rewriting until the backup has ended.
 *
 * The copy verifies every record's checksum, so that damage is never copied unnoticed. Then each
 * file is synced, read back and compared. The checked file `backup` lists all files with their
 * CRC-32 and is written last: a directory without it is not a backup. A directory with it is also a
 * valid data directory.
 *
 * The queues of WAN publishers are not copied (marks-file.ts, wan-queue-file.ts) and start empty in
 * the copy.
 *
 * The work is split into short steps, and the event loop runs between them.
 */
import { crc32 } from 'node:zlib';
import type { Clock } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import { writeAtomically } from './atomic-file.ts';
import { writeCheckedFile } from './checked-file.ts';
import { DamagedData } from './damage.ts';
import { MANIFEST, type Manifest, writeManifest } from './manifest.ts';
import { MEMBER, type MemberValues } from './member-file.ts';
import { checkRecord, SEAL, typeAt } from './record-codec.ts';
import { sealAt } from './seals.ts';
import {
  HEADER_BYTES,
  LOG,
  type LogPosition,
  type SegmentId,
  SNAPSHOT,
  segmentHeader,
  segmentName,
} from './segment.ts';
import { type ReadSegment, SegmentReader } from './segment-reader.ts';
import type { Storage } from './storage.ts';

export const BACKUP = 'backup';

/** Maximum duration of one step, in ms. */
const STEP_MS = 0.25;
/** Records that are checked between two readings of the clock. */
const RECORDS_PER_CLOCK_READ = 64;
const PIECE_BYTES = 262_144;

/** The data as of one point in time. */
export interface Cut {
  readonly manifest: Manifest;
  readonly member: MemberValues;
  /** The end of the log. */
  readonly end: LogPosition;
  /** Time of the cut, in ms since 1970. */
  readonly wallMs: number;
}

/** The content of the file `backup`. */
export interface BackupList {
  /** The time of the data, in ISO 8601. */
  readonly of: string;
  readonly files: readonly BackedUpFile[];
}

interface BackedUpFile {
  readonly name: string;
  readonly bytes: number;
  readonly crc32: number;
}

export class Backup {
  readonly #source: Storage;
  readonly #target: Storage;
  readonly #cut: Cut;
  readonly #clock: Clock;
  readonly #reader: SegmentReader;
  readonly #piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  readonly #files: BackedUpFile[] = [];
  #isInterrupted = false;

  /** `target` must be empty. */
  constructor(source: Storage, target: Storage, cut: Cut, clock: Clock) {
    this.#source = source;
    this.#target = target;
    this.#cut = cut;
    this.#clock = clock;
    this.#reader = new SegmentReader(source);
  }

  /**
   * Resolves once the target is complete and durable. Rejects with DamagedData, with GridError
   * BACKUP_INTERRUPTED, or with the system's error.
   */
  async write(): Promise<BackupList> {
    const { manifest, member, end, wallMs } = this.#cut;
    await this.#copySnapshot();
    await this.#copyLog();
    await writeCheckedFile(this.#target, MEMBER, member);
    const { partitionCount, memoryBytesMax, firstSegment, snapshot } = manifest;
    const memory = memoryBytesMax === undefined ? {} : { memoryBytesMax };
    const common = { partitionCount, ...memory, firstSegment, synced: end, hasMember: true };
    const { number = 0, parts = 0, bytes = 0 } = snapshot ?? {};
    const copied = { ...common, snapshot: { number, parts, bytes } };
    await writeManifest(this.#target, snapshot === undefined ? common : copied);
    for (const name of [MEMBER, MANIFEST]) this.#files.push(await this.#sum(name));
    await this.#verify();
    const list = { of: new Date(wallMs).toISOString(), files: this.#files };
    await writeCheckedFile(this.#target, BACKUP, list);
    return list;
  }

  /** Makes `write` reject with BACKUP_INTERRUPTED at its next step. */
  interrupt(): void {
    this.#isInterrupted = true;
  }

  async #copySnapshot(): Promise<void> {
    const { snapshot } = this.#cut.manifest;
    if (snapshot === undefined) return;
    const { number, parts } = snapshot;
    for (let part = 0; part < parts; part++) {
      const id = { kind: SNAPSHOT, number, part } as const;
      await this.#copy(id, undefined, part + 1 < parts ? { ...id, part: part + 1 } : undefined);
    }
  }

  async #copyLog(): Promise<void> {
    const { manifest, end } = this.#cut;
    for (let number = manifest.firstSegment; ; ) {
      const id = { kind: LOG, number, part: 0 } as const;
      const isLast = number === end.segment;
      const next = await this.#copy(id, isLast ? end.offset : undefined, undefined);
      if (isLast) return;
      number = next;
    }
  }

  /**
   * Copies the segment up to `end`, or else up to its SEAL; then resolves with the segment number
   * that the SEAL names.
   */
  async #copy(
    id: SegmentId,
    end: number | undefined,
    ahead: SegmentId | undefined,
  ): Promise<number> {
    this.#check();
    const segment = await this.#reader.read(id, ahead);
    if (segment.fault !== undefined) throw this.#damage(id, 0, segment.fault);
    const at = await this.#endOfRecords(segment, end);
    const sealed = sealAt(segment.page, at, segment.length, segment.seed);
    const length = end ?? sealed.end;
    // The header contains the length of the copy, not the length with which the segment was
    // created.
    segmentHeader(id, length).copy(segment.page.bytes);
    await this.#write(segmentName(id), segment.page.bytes, length);
    if (end !== undefined) return 0;
    if (sealed.next === undefined) throw this.#damage(id, at);
    return sealed.next;
  }

  /** Returns the offset of the SEAL, or `end`, which must be a boundary between two records. */
  async #endOfRecords(segment: ReadSegment, end: number | undefined): Promise<number> {
    const { page, length, seed, id } = segment;
    let at = HEADER_BYTES;
    let stepEndMs = this.#clock.now() + STEP_MS;
    for (let count = 1; at !== end; count++) {
      const paddedLength = checkRecord(page, at, end ?? length, seed);
      if (paddedLength === 0) throw this.#damage(id, at);
      if (end === undefined && typeAt(page, at) === SEAL) break;
      at += paddedLength;
      if (count % RECORDS_PER_CLOCK_READ !== 0 || this.#clock.now() < stepEndMs) continue;
      await this.#yieldToEventLoop();
      stepEndMs = this.#clock.now() + STEP_MS;
    }
    return at;
  }

  async #write(name: string, bytes: Buffer, length: number): Promise<void> {
    let sum = 0;
    await writeAtomically(this.#target, name, async (file) => {
      for (let at = 0; at < length; at += PIECE_BYTES) {
        this.#check();
        const end = Math.min(at + PIECE_BYTES, length);
        sum = crc32(bytes.subarray(at, end), sum);
        await file.write(bytes, at, end, at);
      }
    });
    this.#files.push({ name, bytes: length, crc32: sum });
  }

  async #verify(): Promise<void> {
    for (const { name, bytes, crc32: wanted } of this.#files) {
      const found = await this.#sum(name);
      if (found.bytes === bytes && found.crc32 === wanted) continue;
      throw new DamagedData(this.#target, name, 0, 'differs from what was written');
    }
  }

  async #sum(name: string): Promise<BackedUpFile> {
    return await sumFile(this.#target, name, this.#piece, () => this.#check());
  }

  #check(): void {
    if (this.#isInterrupted) throw new GridError('BACKUP_INTERRUPTED', {});
  }

  async #yieldToEventLoop(): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.endOfTurn(resolve));
    this.#check();
  }

  #damage(id: SegmentId, at: number, what = 'is damaged'): DamagedData {
    return new DamagedData(this.#source, segmentName(id), at, what);
  }
}

/**
 * Computes the length and CRC-32 of a file, which is read in pieces into `piece`. `onPiece` is
 * called before each read.
 */
export async function sumFile(
  storage: Storage,
  name: string,
  piece: Buffer,
  onPiece: () => void = () => {},
): Promise<BackedUpFile> {
  const file = await storage.open(name);
  let bytes = 0;
  let sum = 0;
  try {
    for (let count = piece.length; count === piece.length; ) {
      onPiece();
      count = await file.read(piece, bytes);
      sum = crc32(piece.subarray(0, count), sum);
      bytes += count;
    }
  } finally {
    await file.close();
  }
  return { name, bytes, crc32: sum };
}
