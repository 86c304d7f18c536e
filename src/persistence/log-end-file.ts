/**
 * The file `log-end` contains the position of the end of the log, which distinguishes a log that
 * was cut off from one that ended there. It is overwritten within 50 ms of a change of the log,
 * without a sync. Written bytes survive the end of the process, so a log that ends before the
 * position in the file is damaged, if the machine has not rebooted. After a reboot only the synced
 * position is valid. An incomplete file is ignored.
 *
 * Both positions are valid only for the exact segment file, identified by device and inode. A
 * directory that was copied while a member wrote to it contains another file, and its files were
 * copied at different times: then only the settled position is valid, which had been durable for
 * SETTLED_MS.
 *
 * Numbers are little-endian.
 *
 *     0  "gridend\n"
 *     8  format (data-format.ts)
 *    12  CRC-32C of all that follows
 *    16  end of the log: number of the segment, at 20 the offset
 *    24  position up to which the log was durable: number of the segment, at 28 the offset
 *    32  settled position: number of the segment, at 36 the offset
 *    40  file of the segment at 16: device, eight bytes, at 48 the inode, eight bytes
 *    56  boot ID of the machine (storage.ts), padded with zeros to 40 bytes
 *
 * Tested by log-end.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { writeAtomically } from './atomic-file.ts';
import { checksum } from './checksum.ts';
import { DamagedData } from './damage.ts';
import { DATA_FORMAT } from './data-format.ts';
import type { Manifest } from './manifest.ts';
import { Page } from './page.ts';
import { LOG, type LogPosition, segmentName } from './segment.ts';
import type { FileIdentity, Storage, StoredFile } from './storage.ts';

export const LOG_END = 'log-end';

const MAGIC = 'gridend\n';
const BOOT_ID_BYTES_MAX = 40;
const BOOT_ID_AT = 56;
const FILE_BYTES = BOOT_ID_AT + BOOT_ID_BYTES_MAX;

/** Delay between a change of the log and the update of the file, in ms. */
const DELAY_MS = 50;
/** Time for which a settled position has been durable, in ms. Copying the directory takes less. */
const SETTLED_MS = 60_000;

/** The progress of the log. */
interface LogProgress {
  /** Everything before this position is written. */
  readonly writtenEnd: LogPosition;
  /** The file of that segment. */
  readonly writtenFile: StoredFile;
  /** Everything before this position is durable. */
  readonly synced: LogPosition;
  /** The error after which writing stopped. */
  readonly failure: Error | undefined;
}

/** The content of the file. */
interface LogEnd {
  readonly end: LogPosition;
  readonly synced: LogPosition;
  readonly settled: LogPosition;
  readonly identity: FileIdentity;
  readonly bootId: string;
}

export class LogEndFile {
  readonly #file: StoredFile;
  readonly #clock: Clock;
  readonly #bootId: string;
  readonly #page = new Page(FILE_BYTES);
  #timer: Timer | undefined;
  #isClosed = false;
  #settled: LogPosition;
  /** The next settled position, and the time since which it has been durable. */
  #nextSettled: LogPosition;
  #nextSinceMs: number;
  /** The segment file whose identity was read last. */
  #identified: StoredFile | undefined;
  #identity: FileIdentity = { device: 0n, inode: 0n };

  private constructor(file: StoredFile, clock: Clock, bootId: string, position: LogPosition) {
    this.#file = file;
    this.#clock = clock;
    this.#bootId = bootId;
    this.#settled = position;
    this.#nextSettled = position;
    this.#nextSinceMs = clock.now();
  }

  /**
   * Opens the file and records `place` as the durable end of the log. Resolves with undefined if
   * the boot ID is not available.
   */
  static async open(
    storage: Storage,
    clock: Clock,
    position: LogPosition,
  ): Promise<LogEndFile | undefined> {
    const { bootId } = storage;
    if (bootId === undefined || Buffer.byteLength(bootId) > BOOT_ID_BYTES_MAX) return undefined;
    const exists = (await storage.list()).includes(LOG_END);
    if (!exists) await writeAtomically(storage, LOG_END, fillBlank);
    const opened = new LogEndFile(await storage.open(LOG_END), clock, bootId, position);
    try {
      opened.#identity = await identityOf(storage, position);
      opened.#write(position, position);
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  /**
   * Schedules an update after a change of the log. The end that the log has DELAY_MS later is
   * written.
   */
  schedule(log: LogProgress): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = this.#clock.after(DELAY_MS, () => {
      this.#timer = undefined;
      this.#update(log);
    });
  }

  /** Writes the current end durably and closes the file. */
  async stop(log: LogProgress): Promise<void> {
    this.#timer?.cancel();
    this.#update(log);
    try {
      await this.#file.sync();
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#file.close();
  }

  #update({ writtenEnd, writtenFile, synced, failure }: LogProgress): void {
    if (failure !== undefined) return;
    const now = this.#clock.now();
    if (now - this.#nextSinceMs >= SETTLED_MS) {
      this.#settled = this.#nextSettled;
      this.#nextSettled = synced;
      this.#nextSinceMs = now;
    }
    try {
      if (writtenFile !== this.#identified) this.#identity = writtenFile.identityNow();
      this.#identified = writtenFile;
      this.#write(writtenEnd, synced);
    } catch {
      // The content of the file remains true, and the next change updates it.
    }
  }

  #write(end: LogPosition, synced: LogPosition): void {
    const { bytes, words } = this.#page;
    bytes.fill(0);
    bytes.write(MAGIC, 'latin1');
    words.set([DATA_FORMAT, 0, end.segment, end.offset, synced.segment, synced.offset], 2);
    words.set([this.#settled.segment, this.#settled.offset], 8);
    bytes.writeBigUInt64LE(this.#identity.device, 40);
    bytes.writeBigUInt64LE(this.#identity.inode, 48);
    bytes.write(this.#bootId, BOOT_ID_AT, 'latin1');
    words[3] = checksum(this.#page, 4, FILE_BYTES >> 2, 0);
    this.#file.writeNow(bytes, 0, FILE_BYTES, 0);
  }
}

/** Reads the file. Resolves with undefined if it is missing or incomplete. */
async function readLogEnd(storage: Storage): Promise<LogEnd | undefined> {
  if (!(await storage.list()).includes(LOG_END)) return undefined;
  const page = new Page(FILE_BYTES);
  page.bytes.fill(0);
  const file = await storage.open(LOG_END);
  try {
    await file.read(page.bytes, 0);
  } finally {
    await file.close();
  }
  const { bytes, words } = page;
  const hasHeader = bytes.toString('latin1', 0, MAGIC.length) === MAGIC;
  if (!hasHeader || words[2] !== DATA_FORMAT) return undefined;
  if (words[3] !== checksum(page, 4, FILE_BYTES >> 2, 0)) return undefined;
  return {
    end: placeAt(page, 4),
    synced: placeAt(page, 6),
    settled: placeAt(page, 8),
    identity: { device: bytes.readBigUInt64LE(40), inode: bytes.readBigUInt64LE(48) },
    bootId: bytes.toString('latin1', BOOT_ID_AT).replace(/\0+$/, ''),
  };
}

function placeAt({ words }: Page, word: number): LogPosition {
  return { segment: words[word]!, offset: words[word + 1]! };
}

/** Resolves with the identity of the segment's file. Rejects with the system's error. */
async function identityOf(storage: Storage, { segment }: LogPosition): Promise<FileIdentity> {
  const file = await storage.open(segmentName({ kind: LOG, number: segment, part: 0 }));
  try {
    return file.identityNow();
  } finally {
    await file.close();
  }
}

/**
 * Whether the segment in which the log ended is a copy. A missing segment is not a copy but damage.
 */
async function isCopy(storage: Storage, { end, identity }: LogEnd): Promise<boolean> {
  try {
    const { device, inode } = await identityOf(storage, end);
    return device !== identity.device || inode !== identity.inode;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return false;
  }
}

/** A lower bound for the end of the log. */
interface ProvenEnd {
  /** The log has certainly reached this position. */
  readonly position: LogPosition;
  /** The last position that is known to have been synced. */
  readonly synced: LogPosition;
  /**
   * Whether all written bytes must be present: the machine has not rebooted, and the files are not
   * a copy.
   */
  readonly hasAllWritten: boolean;
}

/**
 * Returns the position that the log has certainly reached. Rejects with DamagedData if the manifest
 * promises a file of this boot but none can be read.
 */
export async function provenEnd(storage: Storage, manifest: Manifest): Promise<ProvenEnd> {
  const { synced: position, bootId, hasEndRecord } = manifest;
  const isSameRun = bootId !== undefined && bootId === storage.bootId;
  const written = await readLogEnd(storage);
  const isOfThisRun = written !== undefined && written.bootId === storage.bootId;
  if (hasEndRecord && isSameRun && !isOfThisRun) {
    throw new DamagedData(storage, LOG_END, 0, 'is damaged or missing');
  }
  if (written === undefined) return { position, synced: position, hasAllWritten: isSameRun };
  const isOther = await isCopy(storage, written);
  const synced = later(position, isOther ? written.settled : written.synced);
  const isOfFile = isOfThisRun && !isOther;
  return {
    position: isOfFile ? later(synced, written.end) : synced,
    synced,
    hasAllWritten: isSameRun && !isOther,
  };
}

function later(position: LogPosition, other: LogPosition): LogPosition {
  return isBefore(position, other) ? other : position;
}

export function isBefore(position: LogPosition, other: LogPosition): boolean {
  if (position.segment !== other.segment) return position.segment < other.segment;
  return position.offset < other.offset;
}

async function fillBlank(file: StoredFile): Promise<void> {
  await file.write(Buffer.alloc(FILE_BYTES), 0, FILE_BYTES, 0);
}
