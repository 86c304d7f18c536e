/**
 * Space that compaction alone uses: a file as long as a segment. On a full disk a segment is rewritten on
 * the blocks of that file, which then takes the segment's place; what the old segment had taken makes
 * the reserve anew, and only then does anybody else get of it.
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

  constructor(storage: Storage, bytes: number) {
    this.#storage = storage;
    this.#bytes = bytes;
  }

  /**
   * Makes the reserve whole as far as there is space; false where that has not sufficed. Rejects with
   * other errors of the system.
   */
  async fill(): Promise<boolean> {
    const isThere = await this.#isThere();
    const file = await (isThere ? this.#storage.open(RESERVE) : this.#storage.create(RESERVE));
    try {
      if (file.length >= this.#bytes) return true;
      for (let at = file.length; at < this.#bytes; at += PIECE_BYTES) {
        const bytes = Math.min(PIECE_BYTES, this.#bytes - at);
        await file.write(BLANK, 0, bytes, at);
      }
      // Not synced: it is the space that counts, and what is written into it is synced then.
      return true;
    } catch (error) {
      if (isFullDisk(error)) return false;
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Begins a file of that name on the reserve's blocks, where there are any. */
  async spend(name: string): Promise<WholeFile> {
    if (!(await this.#isThere())) return await WholeFile.begin(this.#storage, name);
    return await WholeFile.beginOver(this.#storage, name, RESERVE);
  }

  async #isThere(): Promise<boolean> {
    return (await this.#storage.list()).includes(RESERVE);
  }
}
