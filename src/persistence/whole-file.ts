/**
 * A file that is written whole: under a temporary name, synced, closed, renamed, and its directory
 * synced. A crash leaves the file that was there before or the new one, never a part. Every way out
 * closes the handle, and one that fails before the rename leaves nothing behind.
 */
import { OutcomeUnknown } from '../base/errors.ts';
import type { Storage, StoredFile } from './storage.ts';

/** Beside which a file is written before it takes the name. */
export const TEMPORARY_SUFFIX = '.tmp';

/**
 * Writes the file of that name as `fill` does, in place of one that is there. Rejects with
 * OutcomeUnknown where only the last step has failed: the new file is there, and a crash may undo that.
 */
export async function writeWhole(
  storage: Storage,
  name: string,
  fill: (file: StoredFile) => Promise<void>,
): Promise<void> {
  const whole = await WholeFile.begin(storage, name);
  try {
    await fill(whole.file);
  } catch (error) {
    await whole.drop();
    throw error;
  }
  await whole.keep();
}

/** One that is written piece by piece; ends with `keep` or `drop`. */
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

  /** The same on the blocks of the file `from`, which is there, and whose content is lost. */
  static async beginOver(storage: Storage, name: string, from: string): Promise<WholeFile> {
    return new WholeFile(storage, name, await storage.open(from));
  }

  /** What was written is the file from now on. Rejects as writeWhole does. */
  async keep(): Promise<void> {
    const storage = this.#storage;
    try {
      await this.file.sync();
      this.#isOpen = false;
      await this.file.close();
      await storage.rename(this.file.name, this.#name);
    } catch (error) {
      await this.drop();
      throw error;
    }
    const directory = this.#name.lastIndexOf('/');
    try {
      await storage.syncDirectory(directory < 0 ? undefined : this.#name.slice(0, directory));
    } catch (cause) {
      throw new OutcomeUnknown(cause as Error);
    }
  }

  /** Nothing is left of it, unless that fails, too: then the next start removes it. */
  async drop(): Promise<void> {
    if (this.#isOpen) await this.file.close().catch(ignored);
    this.#isOpen = false;
    await this.#storage.remove(this.file.name).catch(ignored);
  }
}

/** An error is on its way already, and this one adds nothing to it. */
function ignored(): void {}
