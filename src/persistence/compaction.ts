/**
 * Wins space back where there is none for a snapshot: rewrites one full segment of the log without the
 * entries and items that are no longer as it says, and puts it in the place of the old one. Records
 * stay in their order, in a segment of the same number, so nothing else has to know. Removals stay, as
 * an earlier segment or the snapshot may hold what they end; the next snapshot drops them.
 *
 * It takes the space of one segment at most, and gives more back. On a full disk that is what a file
 * named `reserve` has kept: it is removed before, and written anew after.
 */
import type { Clock } from '../base/clock.ts';
import { Mutation, OFFER, RETURN, SET } from '../engine/mutation.ts';
import type { StoredEngine } from '../engine/stored-engine.ts';
import { TEMPORARY_SUFFIX } from './checked-file.ts';
import { checkRecord, MARK, Page, readMutation, typeAt } from './record-codec.ts';
import { HEADER_BYTES, LOG, type SegmentId, segmentName } from './segment.ts';
import { type ReadSegment, SegmentReader } from './segment-reader.ts';
import type { Storage } from './storage.ts';

export const RESERVE = 'reserve';

/** A segment of which less is dead is not worth the writing. */
const DEAD_SHARE_MIN = 0.1;
const RECORDS_PER_TURN = 256;
const PIECE_BYTES = 1_048_576;
const BLANK = Buffer.alloc(PIECE_BYTES);

export class Compaction {
  readonly #storage: Storage;
  readonly #engine: StoredEngine;
  readonly #clock: Clock;
  readonly #reserveBytes: number;
  readonly #syncLog: () => Promise<void>;
  readonly #mutation = new Mutation();

  constructor(
    storage: Storage,
    engine: StoredEngine,
    clock: Clock,
    reserveBytes: number,
    syncLog: () => Promise<void>,
  ) {
    this.#syncLog = syncLog;
    this.#storage = storage;
    this.#engine = engine;
    this.#clock = clock;
    this.#reserveBytes = reserveBytes;
  }

  /** Writes the reserve out, where there is none. Rejects where there is no space for it. */
  async reserve(): Promise<void> {
    if ((await this.#storage.list()).includes(RESERVE)) return;
    const file = await this.#storage.create(RESERVE + TEMPORARY_SUFFIX);
    try {
      for (let at = 0; at < this.#reserveBytes; at += PIECE_BYTES) {
        const bytes = Math.min(PIECE_BYTES, this.#reserveBytes - at);
        await file.write(BLANK, 0, bytes, at);
      }
      await file.sync();
      await file.close();
      await this.#storage.rename(file.name, RESERVE);
    } catch (error) {
      await this.#storage.remove(file.name);
      throw error;
    }
  }

  /** The segment must be full and durable. How many bytes that has won back. */
  async compact(number: number): Promise<number> {
    const id: SegmentId = { kind: LOG, number, part: 0 };
    const segment = await this.#read(id);
    if (segment === undefined || segment.fault !== undefined) return 0;
    const live = new Page(segment.length + 8);
    const end = await this.#copyLive(segment, live);
    const won = segment.length - end;
    if (won < segment.length * DEAD_SHARE_MIN) return 0;
    // What has ended the others must not be lost while they already are.
    await this.#syncLog();
    await this.#storage.remove(RESERVE);
    await this.#storage.syncDirectory();
    await this.#replace(segmentName(id), live.bytes, end);
    return won;
  }

  /** Undefined where it has gone: one that had been made ready, and was passed over. */
  async #read(id: SegmentId): Promise<ReadSegment | undefined> {
    return await new SegmentReader(this.#storage).read(id, undefined).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    });
  }

  /** Copies what counts, and returns where it ends. A segment that is not whole stays as it is. */
  async #copyLive({ page, length, seed }: ReadSegment, live: Page): Promise<number> {
    let end = page.bytes.copy(live.bytes, 0, 0, HEADER_BYTES);
    let at = HEADER_BYTES;
    for (let count = 1; at < length; count++) {
      const taken = checkRecord(page, at, length, seed);
      if (taken === 0) return length;
      if (this.#counts(page, at)) end += page.bytes.copy(live.bytes, end, at, at + taken);
      at += taken;
      if (count % RECORDS_PER_TURN === 0) await this.#breathe();
    }
    return end;
  }

  #counts(page: Page, at: number): boolean {
    const type = typeAt(page, at);
    if (type === MARK) return false;
    if (type !== SET && type !== OFFER && type !== RETURN) return true;
    readMutation(page, at, this.#mutation);
    return this.#engine.isStored(this.#mutation);
  }

  async #replace(name: string, bytes: Buffer, end: number): Promise<void> {
    const file = await this.#storage.create(name + TEMPORARY_SUFFIX);
    try {
      await file.write(bytes, 0, end, 0);
      await file.sync();
      await file.close();
      await this.#storage.rename(file.name, name);
      await this.#storage.syncDirectory();
    } catch (error) {
      await this.#storage.remove(file.name);
      throw error;
    }
  }

  #breathe(): Promise<void> {
    return new Promise((resolve) => this.#clock.endOfTurn(resolve));
  }
}
