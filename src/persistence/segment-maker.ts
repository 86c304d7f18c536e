/**
 * Makes the files of log segments: written out with zeros under another name, then durable with header and
 * name, in this order. So a file with the name of a segment and without its header was never a segment,
 * unless it is damaged. One that is needed at once is made in a call that blocks: only its header and its
 * name are durable then. A name that another file has is left out.
 */
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
import { TEMPORARY_SUFFIX } from './whole-file.ts';

/**
 * Bytes of the pieces in which a segment is filled. The system keeps the blocks of one write together, and
 * looks at all of them at each later write: with pieces of 1 MiB, a record takes 2.4 µs to write, not 1.3.
 */
const PIECE_BYTES = 131_072;
/** The name of a segment that has no number yet, and that of one which is made in a call that blocks. */
const UNNAMED = `log${TEMPORARY_SUFFIX}`;
const UNNAMED_NOW = `log-now${TEMPORARY_SUFFIX}`;
const BLANK = Buffer.alloc(PIECE_BYTES);

export interface LogSegment {
  readonly number: number;
  readonly seed: number;
  readonly file: StoredFile;
  readonly bytes: number;
  /** Whether all of its bytes are durable; its header and name are in any case. */
  readonly isDurable: boolean;
}

export class SegmentMaker {
  readonly #storage: Storage;
  /** The next segment has this number, or a greater one. */
  nextNumber = 0;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** A durable segment. Rejects with the system's error; then nothing is left. */
  async make(bytes: number): Promise<LogSegment> {
    const storage = this.#storage;
    const file = await storage.create(UNNAMED);
    let name = UNNAMED;
    try {
      for (let at = 0; at < bytes; at += PIECE_BYTES) {
        await file.write(BLANK, 0, Math.min(PIECE_BYTES, bytes - at), at);
      }
      // The file is synced before it has a number: this takes long, and the number may be needed meanwhile.
      await file.sync();
      const id = this.#nextId();
      await file.write(segmentHeader(id, bytes), 0, HEADER_BYTES, 0);
      await file.sync();
      await storage.rename(UNNAMED, segmentName(id));
      name = segmentName(id);
      await storage.syncDirectory();
      return { number: id.number, seed: segmentSeed(id), file, bytes, isDurable: true };
    } catch (error) {
      await this.#drop(file, name);
      throw error;
    }
  }

  /**
   * Blocks while the segment is written out. Its content becomes durable with the first sync of its records.
   * Throws the system's error.
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
      return { number: id.number, seed: segmentSeed(id), file, bytes, isDurable: false };
    } catch (error) {
      void this.#drop(file, name);
      throw error;
    }
  }

  /** Removes the segment. Never rejects. */
  async discard({ file, number }: LogSegment): Promise<void> {
    await this.#drop(file, segmentName({ kind: LOG, number, part: 0 }));
  }

  /** Removes the segment in a call that blocks. Throws the system's error. */
  discardNow({ file, number }: LogSegment): void {
    file.closeNow();
    this.#storage.removeNow(segmentName({ kind: LOG, number, part: 0 }));
  }

  /** The next number that no file has. Throws where there is none. */
  #nextId(): SegmentId {
    for (; this.nextNumber <= NUMBER_MAX; this.nextNumber++) {
      const id = { kind: LOG, number: this.nextNumber, part: 0 } as const;
      if (this.#storage.existsNow(segmentName(id))) continue;
      this.nextNumber++;
      return id;
    }
    throw new Error('the numbers of segments are used up');
  }

  /** Removes the file of that name; the next start removes one that cannot be removed now. Never rejects. */
  async #drop(file: StoredFile, name: string): Promise<void> {
    await file.close().catch(ignored);
    await this.#storage.remove(name).catch(ignored);
  }
}

/** An error of cleaning up adds nothing to the known error. */
function ignored(): void {}
