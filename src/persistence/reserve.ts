/**
 * Disk space that only compaction uses: a file as long as a segment. On a full disk a segment is
 * rewritten into the blocks of that file, which then replaces the segment. The space of the old
 * segment becomes the new reserve before any other user can allocate it: until the reserve is
 * complete, the log gets no new segments, except short ones for removals (segment-supply.ts). If
 * the reserve were shorter than the live records of every segment, it would be useless, and the
 * disk would remain full. Tested by compaction.spec.ts.
 */

import { AtomicFile } from './atomic-file.ts';
import type { Storage } from './storage.ts';
import { isFullDisk } from './storage.ts';

export const RESERVE = 'reserve';

const PIECE_BYTES = 1_048_576;
const BLANK = Buffer.alloc(PIECE_BYTES);

export class Reserve {
  readonly #storage: Storage;
  readonly #bytes: number;
  #filledBytes = 0;

  constructor(storage: Storage, bytes: number) {
    this.#storage = storage;
    this.#bytes = bytes;
  }

  /**
   * Length of the reserve, in bytes: less than a segment if space was lacking, 0 while it is in
   * use.
   */
  get filledBytes(): number {
    return this.#filledBytes;
  }

  get isWhole(): boolean {
    return this.#filledBytes >= this.#bytes;
  }

  /**
   * Fills the reserve as far as there is space. Resolves with false if there was not enough.
   * Rejects with other errors of the system.
   */
  async fill(): Promise<boolean> {
    try {
      await this.complete();
      return true;
    } catch (error) {
      if (isFullDisk(error)) return false;
      throw error;
    }
  }

  /** Fills the reserve. Also rejects if there is not enough space. */
  async complete(): Promise<void> {
    const exists = await this.#exists();
    const file = await (exists ? this.#storage.open(RESERVE) : this.#storage.create(RESERVE));
    try {
      for (let at = file.length; at < this.#bytes; at += PIECE_BYTES) {
        const bytes = Math.min(PIECE_BYTES, this.#bytes - at);
        await file.write(BLANK, 0, bytes, at);
      }
      // Not synced: only the space matters, and records written into it are synced later.
    } finally {
      this.#filledBytes = file.length;
      await file.close();
    }
  }

  /**
   * Removes the reserve in a blocking call, which frees its space. Returns false if it is empty.
   * Throws the system's error.
   */
  removeNow(): boolean {
    if (this.#filledBytes === 0) return false;
    this.#filledBytes = 0;
    this.#storage.removeNow(RESERVE);
    return true;
  }

  /**
   * Starts a file with this name in the blocks of the reserve, if there are any. `fill` must be
   * called afterwards.
   */
  async beginFile(name: string): Promise<AtomicFile> {
    this.#filledBytes = 0;
    if (!(await this.#exists())) return await AtomicFile.begin(this.#storage, name);
    return await AtomicFile.beginOver(this.#storage, name, RESERVE);
  }

  async #exists(): Promise<boolean> {
    return (await this.#storage.list()).includes(RESERVE);
  }
}
