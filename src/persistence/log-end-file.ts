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
 * It is a framed file (framed-file.ts), "gridEND\n". Numbers are little-endian.
 *
 *    20  end of the log: number of the segment, at 24 the offset
 *    28  position up to which the log was durable: number of the segment, at 32 the offset
 *    36  settled position: number of the segment, at 40 the offset
 *    44  file of the segment at 20: device, eight bytes, at 52 the inode, eight bytes
 *    60  boot ID of the machine (storage.ts), a text (../base/fields.ts); then zeros up to 102
 *
 * Tested by log-end.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import { FieldReader, FieldWriter, textBytes } from '../base/fields.ts';
import { FRAME_BYTES } from '../base/frame.ts';
import { writeAtomically } from './atomic-file.ts';
import { DamagedData } from './damage.ts';
import { framed, readFramed } from './framed-file.ts';
import type { Manifest } from './manifest.ts';
import { LOG, type LogPosition, segmentName } from './segment.ts';
import type { FileIdentity, Storage, StoredFile } from './storage.ts';

export const LOG_END = 'log-end';

const MAGIC = 'gridEND\n';
/** Length of the file. It is overwritten in place, so it has the same length for every boot ID. */
const FILE_BYTES = 102;
const BOOT_ID_BYTES_MAX = 40;
const IDENTITY_BYTES = 16;

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
    const positions = new FieldWriter(Buffer.alloc(24), 0);
    for (const { segment, offset } of [end, synced, this.#settled]) {
      positions.word(segment).word(offset);
    }
    const identity = Buffer.alloc(IDENTITY_BYTES);
    identity.writeBigUInt64LE(this.#identity.device);
    identity.writeBigUInt64LE(this.#identity.inode, 8);
    const rest = Buffer.alloc(BOOT_ID_BYTES_MAX - Buffer.byteLength(this.#bootId));
    const pieces = [positions.bytes, identity, textBytes(this.#bootId), rest];
    const { bytes } = framed(MAGIC, pieces);
    this.#file.writeNow(bytes, 0, FILE_BYTES, 0);
  }
}

/** Reads the file. Resolves with undefined if it is missing, incomplete or of another format. */
async function readLogEnd(storage: Storage): Promise<LogEnd | undefined> {
  if (!(await storage.list()).includes(LOG_END)) return undefined;
  try {
    const { bytes } = await readFramed(storage, LOG_END, MAGIC);
    const fault = (what: string) => new DamagedData(storage, LOG_END, reader.at, what);
    const reader = new FieldReader(bytes, FRAME_BYTES, fault);
    const position = () => ({ segment: reader.word(), offset: reader.word() });
    const [end, synced, settled] = [position(), position(), position()];
    const identity = reader.bytes(IDENTITY_BYTES);
    const bootId = reader.text().toString();
    const [device, inode] = [identity.readBigUInt64LE(0), identity.readBigUInt64LE(8)];
    return { end, synced, settled, identity: { device, inode }, bootId };
  } catch (error) {
    if (error instanceof GridError) return undefined;
    throw error;
  }
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

/** Reserves the space of the file on the disk. */
async function fillBlank(file: StoredFile): Promise<void> {
  await file.write(Buffer.alloc(FILE_BYTES), 0, FILE_BYTES, 0);
}
