/**
 * A file that is written atomically: under a temporary name, synced, closed and renamed; then its
 * directory is synced. A crash leaves the old file or the new one, never a part. The handle is
 * always closed, and a failure before the rename leaves no file.
 */
import { OutcomeUnknown } from '../base/errors.ts';
import type { Storage, StoredFile } from './storage.ts';

/** Suffix of the temporary name of a file that is being written. */
export const TEMPORARY_SUFFIX = '.tmp';
/** Suffix of the names of new segments until they are valid. */
export const NEW_SUFFIX = '.new';
/** Bytes that are copied at a time. */
const COPIED_BYTES = 1_048_576;

/**
 * Writes the file atomically with `fill`, replacing an existing one. Rejects with OutcomeUnknown if
 * only the last step failed: the new file exists, but a crash may undo that. With `isSynced` false
 * nothing is synced: the end of the process leaves the old file or the new one, but a crash of the
 * machine may leave a part.
 */
export async function writeAtomically(
  storage: Storage,
  name: string,
  fill: (file: StoredFile) => Promise<void>,
  { isSynced } = { isSynced: true },
): Promise<void> {
  const whole = await AtomicFile.begin(storage, name);
  try {
    await fill(whole.file);
  } catch (error) {
    await whole.discard();
    throw error;
  }
  await (isSynced ? whole.complete() : whole.rename());
}

/** Writes the file atomically with this content, as writeAtomically does. */
export async function replaceFile(
  storage: Storage,
  name: string,
  bytes: Buffer,
  sync = { isSynced: true },
): Promise<void> {
  await writeAtomically(storage, name, (file) => file.write(bytes, 0, bytes.length, 0), sync);
}

/** Copies the file atomically. Rejects as writeAtomically does. */
export async function copyFile(
  from: Storage,
  name: string,
  to: Storage,
  copyName = name,
): Promise<void> {
  const file = await from.open(name);
  try {
    const piece = Buffer.allocUnsafe(Math.min(COPIED_BYTES, Math.max(file.length, 1)));
    await writeAtomically(to, copyName, async (copy) => {
      for (let at = 0; at < file.length; at += piece.length) {
        await copy.write(piece, 0, await file.read(piece, at), at);
      }
    });
  } finally {
    await file.close();
  }
}

/** A file that is written in pieces, then ended with `complete` or `discard`. */
export class AtomicFile {
  readonly file: StoredFile;
  readonly #storage: Storage;
  readonly #name: string;
  #isOpen = true;

  private constructor(storage: Storage, name: string, file: StoredFile) {
    this.#storage = storage;
    this.#name = name;
    this.file = file;
  }

  static async begin(storage: Storage, name: string): Promise<AtomicFile> {
    return new AtomicFile(storage, name, await storage.create(name + TEMPORARY_SUFFIX));
  }

  /** Starts a file in the blocks of the existing file `from`, whose content is lost. */
  static async beginOver(storage: Storage, name: string, from: string): Promise<AtomicFile> {
    return new AtomicFile(storage, name, await storage.open(from));
  }

  /** Syncs the file and renames it to its final name, durably. Rejects as writeAtomically does. */
  async complete(): Promise<void> {
    const storage = this.#storage;
    try {
      await this.file.sync();
    } catch (error) {
      await this.discard();
      throw error;
    }
    await this.rename();
    const directory = this.#name.lastIndexOf('/');
    try {
      await storage.syncDirectory(directory < 0 ? undefined : this.#name.slice(0, directory));
    } catch (cause) {
      throw new OutcomeUnknown(cause as Error);
    }
  }

  /** Closes the file and renames it to its final name. */
  async rename(): Promise<void> {
    try {
      this.#isOpen = false;
      await this.file.close();
      await this.#storage.rename(this.file.name, this.#name);
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  /** Removes the file. If that fails, the next start removes it. */
  async discard(): Promise<void> {
    if (this.#isOpen) await this.file.close().catch(ignored);
    this.#isOpen = false;
    await this.#storage.remove(this.file.name).catch(ignored);
  }
}

/** Another error is already being reported. */
function ignored(): void {}
