/**
 * A file that is written as a whole: under a temporary name, synced, closed, renamed, and its directory
 * synced. A crash leaves the old file or the new one, never a part. The handle is closed in every case,
 * and a failure before the rename leaves nothing behind.
 */
import { OutcomeUnknown } from '../base/errors.ts';
import type { Storage, StoredFile } from './storage.ts';

/** Ends the temporary name of a file that is being written. */
export const TEMPORARY_SUFFIX = '.tmp';

/**
 * Writes the file of that name with `fill`, in place of an existing one. Rejects with OutcomeUnknown where
 * only the last step has failed: the new file is there, and a crash may undo that. With `isSynced` false no
 * step is synced: the end of the process leaves the old file or the new one, the end of the machine may
 * leave a part.
 */
export async function writeWhole(
  storage: Storage,
  name: string,
  fill: (file: StoredFile) => Promise<void>,
  { isSynced } = { isSynced: true },
): Promise<void> {
  const whole = await WholeFile.begin(storage, name);
  try {
    await fill(whole.file);
  } catch (error) {
    await whole.drop();
    throw error;
  }
  await (isSynced ? whole.keep() : whole.name());
}

/** A file that is written piece by piece; ends with `keep` or `drop`. */
export class WholeFile {
  readonly file: StoredFile;
  readonly #storage: Storage;
  readonly #name: string;
  #isOpen = true;

  private constructor(storage: Storage, name: string, file: StoredFile) {
    this.#storage = storage;
    this.#name = name;
    this.file = file;
  }

  static async begin(storage: Storage, name: string): Promise<WholeFile> {
    return new WholeFile(storage, name, await storage.create(name + TEMPORARY_SUFFIX));
  }

  /** The same on the blocks of the existing file `from`, whose content is lost. */
  static async beginOver(storage: Storage, name: string, from: string): Promise<WholeFile> {
    return new WholeFile(storage, name, await storage.open(from));
  }

  /** Puts the written file in its place. Rejects as writeWhole does. */
  async keep(): Promise<void> {
    const storage = this.#storage;
    try {
      await this.file.sync();
    } catch (error) {
      await this.drop();
      throw error;
    }
    await this.name();
    const directory = this.#name.lastIndexOf('/');
    try {
      await storage.syncDirectory(directory < 0 ? undefined : this.#name.slice(0, directory));
    } catch (cause) {
      throw new OutcomeUnknown(cause as Error);
    }
  }

  /** Gives the written file its name. */
  async name(): Promise<void> {
    try {
      this.#isOpen = false;
      await this.file.close();
      await this.#storage.rename(this.file.name, this.#name);
    } catch (error) {
      await this.drop();
      throw error;
    }
  }

  /** Removes the file. Where that fails, too, the next start removes it. */
  async drop(): Promise<void> {
    if (this.#isOpen) await this.file.close().catch(ignored);
    this.#isOpen = false;
    await this.#storage.remove(this.file.name).catch(ignored);
  }
}

/** Another error is being reported already, and this one adds nothing to it. */
function ignored(): void {}
