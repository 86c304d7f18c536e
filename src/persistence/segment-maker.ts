/**
 * Makes the files of log segments: written out with zeros under another name, then durable with number,
 * header and name, in this order. So a segment can be filled while its number is not yet known. One that is
 * needed at once is made in a call that blocks.
 */
import { HEADER_BYTES, LOG, segmentHeader, segmentName, segmentSeed } from './segment.ts';
import type { Storage, StoredFile } from './storage.ts';
import { TEMPORARY_SUFFIX } from './whole-file.ts';

/**
 * Bytes of the pieces in which a segment is filled. The system keeps the blocks of one write together, and
 * looks at all of them at each later write: with pieces of 1 MiB, a record takes 2.4 µs to write, not 1.3.
 */
const PIECE_BYTES = 131_072;
/** The name of a segment that has no number yet. */
export const UNNAMED = `log${TEMPORARY_SUFFIX}`;
const BLANK = Buffer.alloc(PIECE_BYTES);

export interface LogSegment {
  readonly number: number;
  readonly seed: number;
  readonly file: StoredFile;
  readonly bytes: number;
  /** Whether its name and header are durable. */
  readonly isDurable: boolean;
}

export class SegmentMaker {
  readonly #storage: Storage;
  /** The next segment has this number, or a greater one. */
  nextNumber = 0;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** A file of zeros that is to be a segment. Rejects with the system's error; then nothing is left. */
  async fill(bytes: number): Promise<StoredFile> {
    const file = await this.#storage.create(UNNAMED);
    try {
      for (let at = 0; at < bytes; at += PIECE_BYTES) {
        await file.write(BLANK, 0, Math.min(PIECE_BYTES, bytes - at), at);
      }
      await file.sync();
      return file;
    } catch (error) {
      await this.drop(file, UNNAMED);
      throw error;
    }
  }

  /** A durable segment, of the file that was filled where that is as long. Rejects as `fill`. */
  async make(bytes: number, filled?: StoredFile): Promise<LogSegment> {
    const file = filled?.length === bytes ? filled : await this.fill(bytes);
    let name = UNNAMED;
    try {
      const id = { kind: LOG, number: this.nextNumber++, part: 0 } as const;
      await file.write(segmentHeader(id, bytes), 0, HEADER_BYTES, 0);
      await file.sync();
      await this.#storage.rename(UNNAMED, segmentName(id));
      name = segmentName(id);
      await this.#storage.syncDirectory();
      return { number: id.number, seed: segmentSeed(id), file, bytes, isDurable: true };
    } catch (error) {
      await this.drop(file, name);
      throw error;
    }
  }

  /**
   * Blocks while the segment is written out. Its content becomes durable with the first sync of its records.
   * Throws the system's error.
   */
  makeNow(bytes: number): LogSegment {
    const id = { kind: LOG, number: this.nextNumber++, part: 0 } as const;
    const name = segmentName(id);
    let file: StoredFile | undefined;
    try {
      file = this.#storage.createNow(name);
      for (let at = 0; at < bytes; at += PIECE_BYTES) {
        file.writeNow(BLANK, 0, Math.min(PIECE_BYTES, bytes - at), at);
      }
      file.writeNow(segmentHeader(id, bytes), 0, HEADER_BYTES, 0);
      this.#storage.syncDirectoryNow();
      return { number: id.number, seed: segmentSeed(id), file, bytes, isDurable: false };
    } catch (error) {
      if (file !== undefined) void this.drop(file, name);
      throw error;
    }
  }

  /** Removes the segment. Never rejects. */
  async discard({ file, number }: LogSegment): Promise<void> {
    await this.drop(file, segmentName({ kind: LOG, number, part: 0 }));
  }

  /** Removes the file of that name; the next start removes one that cannot be removed now. Never rejects. */
  async drop(file: StoredFile, name: string): Promise<void> {
    await file.close().catch(ignored);
    await this.#storage.remove(name).catch(ignored);
  }
}

/** An error of cleaning up adds nothing to the known error. */
function ignored(): void {}
