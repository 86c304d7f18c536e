/**
 * Disk space for compaction alone: a file as long as a segment. On a full disk a segment is rewritten on the
 * blocks of that file, which then takes the segment's place. The space of the old segment becomes the new
 * reserve before any other user gets some of it: until the reserve is whole, the log gets no new segment but
 * short ones for removals (segment-supply.ts). A reserve that is shorter than the live records of every
 * segment would be of no use, and the disk would stay full.
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

  /** Its length, in bytes: shorter than a segment where the space has not sufficed, 0 while it is spent. */
  get filledBytes(): number {
    return this.#filledBytes;
  }

  get isWhole(): boolean {
    return this.#filledBytes >= this.#bytes;
  }

  /**
   * Fills the reserve as far as there is space; false where the space has not sufficed. Rejects with other
   * errors of the system.
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

  /** The same; rejects also where the space has not sufficed. */
  async complete(): Promise<void> {
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

  /** Gives its space up, in a call that blocks. False where it has none. Throws the system's error. */
  removeNow(): boolean {
    if (this.#filledBytes === 0) return false;
    this.#filledBytes = 0;
    this.#storage.removeNow(RESERVE);
    return true;
  }

  /** Begins a file of that name, on the reserve's blocks if there are any. Ends with `fill`. */
  async spend(name: string): Promise<WholeFile> {
    this.#filledBytes = 0;
    if (!(await this.#isThere())) return await WholeFile.begin(this.#storage, name);
    return await WholeFile.beginOver(this.#storage, name, RESERVE);
  }

  async #isThere(): Promise<boolean> {
    return (await this.#storage.list()).includes(RESERVE);
  }
}
