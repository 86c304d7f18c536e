/**
 * Disk space for compaction alone: a file as long as a segment. On a full disk a segment is rewritten on the
 * blocks of that file, which then takes the segment's place. The space of the old segment becomes the new
 * reserve before any other user gets some of it.
 */
import type { Storage } from './storage.ts';
import { isFullDisk } from './storage.ts';
import { WholeFile } from './whole-file.ts';

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

  /** Its length after the last `fill`, in bytes: shorter than a segment where the space has not sufficed. */
  get filledBytes(): number {
    return this.#filledBytes;
  }

  /**
   * Fills the reserve as far as there is space; false where the space has not sufficed. Rejects with other
   * errors of the system.
   */
  async fill(): Promise<boolean> {
    try {
      await this.#fill();
      return true;
    } catch (error) {
      if (isFullDisk(error)) return false;
      throw error;
    }
  }

  async #fill(): Promise<void> {
    this.#filledBytes = 0;
    const isThere = await this.#isThere();
    const file = await (isThere ? this.#storage.open(RESERVE) : this.#storage.create(RESERVE));
    try {
      for (let at = file.length; at < this.#bytes; at += PIECE_BYTES) {
        const bytes = Math.min(PIECE_BYTES, this.#bytes - at);
        await file.write(BLANK, 0, bytes, at);
      }
      // Not synced: only the space counts, and records written into it are synced then.
    } finally {
      this.#filledBytes = file.length;
      await file.close();
    }
  }

  /** Begins a file of that name, on the reserve's blocks if there are any. */
  async spend(name: string): Promise<WholeFile> {
    if (!(await this.#isThere())) return await WholeFile.begin(this.#storage, name);
    return await WholeFile.beginOver(this.#storage, name, RESERVE);
  }

  async #isThere(): Promise<boolean> {
    return (await this.#storage.list()).includes(RESERVE);
  }
}
