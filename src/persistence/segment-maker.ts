/**
 * Creates the files of log segments: filled with zeros under a temporary name, then made durable
 * with header and name, in this order. So a file with the name of a segment but without its header
 * was never a segment, unless it is damaged. A segment that is needed immediately is created in a
 * blocking call, which makes only its header and name durable. Names of existing files are skipped.
 * Tested by segment-supply.spec.ts.
 */

import { TEMPORARY_SUFFIX } from './atomic-file.ts';
import type { LogFiles } from './log-files.ts';
import {
  HEADER_BYTES,
  LOG,
  NUMBER_MAX,
  type SegmentId,
  segmentHeader,
  segmentName,
  segmentSeed,
} from './segment.ts';
import type { Storage, StoredFile } from './storage.ts';

/**
 * Length of the pieces in which a segment is filled, in bytes. The file system tracks the blocks of
 * one write together and inspects all of them at each later write: with pieces of 1 MiB, writing a
 * record takes 2.4 µs instead of 1.3.
 */
const PIECE_BYTES = 131_072;
/** Temporary names of a segment without a number, and of one that is created in a blocking call. */
const UNNAMED = `log${TEMPORARY_SUFFIX}`;
const UNNAMED_NOW = `log-now${TEMPORARY_SUFFIX}`;
const BLANK = Buffer.alloc(PIECE_BYTES);

export interface LogSegment {
  readonly number: number;
  readonly seed: number;
  readonly file: StoredFile;
  readonly bytes: number;
  /** Whether all its bytes are durable; its header and name always are. */
  readonly isDurable: boolean;
}

export class SegmentMaker {
  readonly #storage: Storage;
  readonly #files: LogFiles;
  /** The minimum number of the next segment. */
  nextNumber = 0;

  constructor(storage: Storage, files: LogFiles) {
    this.#storage = storage;
    this.#files = files;
  }

  /** Creates a durable segment. Rejects with the system's error after removing the file. */
  async make(bytes: number): Promise<LogSegment> {
    const storage = this.#storage;
    const file = await storage.create(UNNAMED);
    let name = UNNAMED;
    try {
      for (let at = 0; at < bytes; at += PIECE_BYTES) {
        await file.write(BLANK, 0, Math.min(PIECE_BYTES, bytes - at), at);
      }
      // The file is synced before it has a number: the sync takes long, and the number may be
      // needed first.
      await file.sync();
      const id = this.#nextId();
      await file.write(segmentHeader(id, bytes), 0, HEADER_BYTES, 0);
      await file.sync();
      await storage.rename(UNNAMED, segmentName(id));
      name = segmentName(id);
      await storage.syncDirectory();
      this.#files.set(id.number, bytes);
      return { number: id.number, seed: segmentSeed(id), file, bytes, isDurable: true };
    } catch (error) {
      await this.#discardFile(file, name);
      throw error;
    }
  }

  /**
   * Creates a segment in a blocking call. Its content becomes durable with the first sync of its
   * records. Throws the system's error.
   */
  makeNow(bytes: number): LogSegment {
    const storage = this.#storage;
    const id = this.#nextId();
    const file = storage.createNow(UNNAMED_NOW);
    let name = UNNAMED_NOW;
    try {
      file.writeNow(BLANK, 0, Math.min(PIECE_BYTES, bytes), 0);
      file.writeNow(segmentHeader(id, bytes), 0, HEADER_BYTES, 0);
      file.syncNow();
      for (let at = PIECE_BYTES; at < bytes; at += PIECE_BYTES) {
        file.writeNow(BLANK, 0, Math.min(PIECE_BYTES, bytes - at), at);
      }
      storage.renameNow(UNNAMED_NOW, segmentName(id));
      name = segmentName(id);
      storage.syncDirectoryNow();
      this.#files.set(id.number, bytes);
      return { number: id.number, seed: segmentSeed(id), file, bytes, isDurable: false };
    } catch (error) {
      void this.#discardFile(file, name);
      throw error;
    }
  }

  /** Removes the segment. Never rejects. */
  async discard({ file, number }: LogSegment): Promise<void> {
    this.#files.delete(number);
    await this.#discardFile(file, segmentName({ kind: LOG, number, part: 0 }));
  }

  /** Removes the segment in a blocking call. Throws the system's error. */
  discardNow({ file, number }: LogSegment): void {
    file.closeNow();
    this.#storage.removeNow(segmentName({ kind: LOG, number, part: 0 }));
    this.#files.delete(number);
  }

  /** Returns the next unused number. Throws if there is none. */
  #nextId(): SegmentId {
    for (; this.nextNumber <= NUMBER_MAX; this.nextNumber++) {
      const id = { kind: LOG, number: this.nextNumber, part: 0 } as const;
      if (this.#storage.existsNow(segmentName(id))) continue;
      this.nextNumber++;
      return id;
    }
    throw new Error('segment numbers are exhausted');
  }

  /** Removes the file with this name; if that fails, the next start removes it. Never rejects. */
  async #discardFile(file: StoredFile, name: string): Promise<void> {
    await file.close().catch(ignored);
    await this.#storage.remove(name).catch(ignored);
  }
}

/** The original error is reported; an error of the cleanup adds nothing. */
function ignored(): void {}
