/**
 * The file `log-end` says how far the log has come, so that a log that was cut off can be told from a log
 * that ended there. It is overwritten within 50 ms of a change of the log, without a sync. Written
 * bytes outlive the process, so in the same run of the machine a log that ends before the place named there
 * is damaged. In another run only the synced place counts. A file that is not whole is ignored.
 * Numbers are little-endian.
 *
 *     0  "gridend\n"
 *     8  format (data-format.ts)
 *    12  CRC-32C of all that follows
 *    16  place in which the log ended: number of the segment, at 20 the offset
 *    24  place up to which the log was durable: number of the segment, at 28 the offset
 *    32  the run of the machine (storage.ts), filled up with zeros to 40 bytes
 */
import type { Clock, Timer } from '../base/clock.ts';
import { checksum } from './checksum.ts';
import { DamagedData } from './damage.ts';
import { DATA_FORMAT } from './data-format.ts';
import type { LogPlace } from './log-place.ts';
import type { Manifest } from './manifest.ts';
import { Page } from './page.ts';
import type { Storage, StoredFile } from './storage.ts';
import { writeWhole } from './whole-file.ts';

export const LOG_END = 'log-end';

const MAGIC = 'gridend\n';
const BOOT_ID_BYTES_MAX = 40;
const FILE_BYTES = 32 + BOOT_ID_BYTES_MAX;

/** Delay from a change of the log to its place in the file, in ms. */
const DELAY_MS = 50;

/** The log, as far as it has come. */
interface LogProgress {
  /** Everything before this place is written. */
  readonly writtenEnd: LogPlace;
  /** Everything before this place is durable. */
  readonly synced: LogPlace;
  /** The error since which nothing is written. */
  readonly failure: Error | undefined;
}

/** The content of the file. */
interface LogEnd {
  readonly end: LogPlace;
  readonly synced: LogPlace;
  readonly bootId: string;
}

export class LogEndFile {
  readonly #file: StoredFile;
  readonly #clock: Clock;
  readonly #bootId: string;
  readonly #page = new Page(FILE_BYTES);
  #timer: Timer | undefined;
  #isClosed = false;

  private constructor(file: StoredFile, clock: Clock, bootId: string) {
    this.#file = file;
    this.#clock = clock;
    this.#bootId = bootId;
  }

  /** Says from now on that the log ends at `place`. Undefined where the run of the machine is not known. */
  static async open(
    storage: Storage,
    clock: Clock,
    place: LogPlace,
  ): Promise<LogEndFile | undefined> {
    const { bootId } = storage;
    if (bootId === undefined || Buffer.byteLength(bootId) > BOOT_ID_BYTES_MAX) return undefined;
    const isThere = (await storage.list()).includes(LOG_END);
    if (!isThere) await writeWhole(storage, LOG_END, fillBlank);
    const opened = new LogEndFile(await storage.open(LOG_END), clock, bootId);
    try {
      opened.#write(place, place);
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  /** Called when the log has changed: the end that it has DELAY_MS later is written then. */
  plan(log: LogProgress): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = this.#clock.after(DELAY_MS, () => {
      this.#timer = undefined;
      this.#update(log);
    });
  }

  /** Writes the end now, durably, and closes the file. */
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

  #update({ writtenEnd, synced, failure }: LogProgress): void {
    if (failure !== undefined) return;
    try {
      this.#write(writtenEnd, synced);
    } catch {
      // What the file says stays true, and the next change writes it again.
    }
  }

  #write(end: LogPlace, synced: LogPlace): void {
    const { bytes, words } = this.#page;
    bytes.fill(0);
    bytes.write(MAGIC, 'latin1');
    words.set([DATA_FORMAT, 0, end.segment, end.offset, synced.segment, synced.offset], 2);
    bytes.write(this.#bootId, 32, 'latin1');
    words[3] = checksum(this.#page, 4, FILE_BYTES >> 2, 0);
    this.#file.writeNow(bytes, 0, FILE_BYTES, 0);
  }
}

/** Undefined where the file is not there, or not whole. */
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
  const isOurs = bytes.toString('latin1', 0, MAGIC.length) === MAGIC;
  if (!isOurs || words[2] !== DATA_FORMAT) return undefined;
  if (words[3] !== checksum(page, 4, FILE_BYTES >> 2, 0)) return undefined;
  const [segment, offset, syncedSegment, syncedOffset] = words.subarray(4, 8) as unknown as Place;
  return {
    end: { segment, offset },
    synced: { segment: syncedSegment, offset: syncedOffset },
    bootId: bytes.toString('latin1', 32).replace(/\0+$/, ''),
  };
}

/**
 * The place that the log has certainly reached. Rejects with DamagedData where the manifest promises a
 * file of this run of the machine, and none can be read.
 */
export async function provenEnd(storage: Storage, manifest: Manifest): Promise<LogPlace> {
  const { synced, bootId, hasEndRecord } = manifest;
  const written = await readLogEnd(storage);
  const isOfThisRun = written !== undefined && written.bootId === storage.bootId;
  if (hasEndRecord && bootId === storage.bootId && !isOfThisRun) {
    throw new DamagedData(storage, LOG_END, 0, 'is damaged or missing');
  }
  if (written === undefined) return synced;
  const known = isOfThisRun ? written.end : written.synced;
  return isBefore(synced, known) ? known : synced;
}

export function isBefore(place: LogPlace, other: LogPlace): boolean {
  if (place.segment !== other.segment) return place.segment < other.segment;
  return place.offset < other.offset;
}

async function fillBlank(file: StoredFile): Promise<void> {
  await file.write(Buffer.alloc(FILE_BYTES), 0, FILE_BYTES, 0);
}

type Place = [number, number, number, number];
