/**
 * The directory of a backup. While it is written it is named `backup-<n>.tmp`, in the directory for
 * backups. A rename to `backup-<n>` completes it in one step.
 *
 * Several members may share the directory for backups, so a backup is locked for the whole time
 * that its name ends in `.tmp`: it is created under a unique name, `making-<id>`, locked, and
 * renamed. An unlocked directory with `.tmp` was left by a process that ended. It is renamed before
 * it is removed, so that the removal never reaches a new directory of the same name that belongs to
 * another member.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { TEMPORARY_SUFFIX } from './atomic-file.ts';
import { DirectoryLock } from './directory-lock.ts';
import { DIRECTORY_MODE, FileStorage, makeDirectories } from './file-storage.ts';

const NAME = /^backup-(\d{1,15})(\.tmp)?$/;
/** The temporary name of a backup that is being created or removed. */
const TEMPORARY_NAME = /^making-[0-9a-f]{16}$/;
/** Age from which an unlocked directory with a temporary name is removed, in ms. */
const STALE_AGE_MS = 3_600_000;

export class BackupDirectory {
  readonly storage: FileStorage;
  readonly #parent: string;
  readonly #number: number;
  readonly #lock: DirectoryLock;

  private constructor(parent: string, number: number, lock: DirectoryLock) {
    this.#parent = parent;
    this.#number = number;
    this.#lock = lock;
    this.storage = new FileStorage(this.#temporary());
  }

  /**
   * Creates a backup directory in `parent`, which is created if it is missing. Rejects with the
   * system's error.
   */
  static async begin(parent: string): Promise<BackupDirectory> {
    const directory = resolve(parent);
    makeDirectories(directory);
    // Read before leftovers are removed: their numbers are not reused, so that no number is used
    // twice.
    const first = 1 + (await lastNumber(directory));
    await removeStale(directory);
    const own = join(directory, temporaryName());
    await mkdir(own, { mode: DIRECTORY_MODE });
    const lock = new DirectoryLock(own);
    try {
      await lock.acquire();
      const number = await renameToFree(own, directory, TEMPORARY_SUFFIX, first);
      return new BackupDirectory(directory, number, lock);
    } catch (error) {
      await rm(own, { recursive: true, force: true });
      await lock.release();
      throw error;
    }
  }

  #temporary(): string {
    return join(this.#parent, nameOf(this.#number) + TEMPORARY_SUFFIX);
  }

  /** Completes the backup and resolves with its path. */
  async complete(): Promise<string> {
    const number = await renameToFree(this.#temporary(), this.#parent, '', this.#number);
    const path = join(this.#parent, nameOf(number));
    await this.#lock.release();
    await rm(join(path, 'lock'), { force: true });
    await syncDirectory(path);
    await syncDirectory(this.#parent);
    return path;
  }

  async discard(): Promise<void> {
    await removeAll(this.#temporary(), this.#parent);
    await this.#lock.release();
  }
}

/**
 * Renames the directory to the first free number, starting at `first`, and resolves with the
 * number.
 */
async function renameToFree(
  from: string,
  parent: string,
  suffix: string,
  first: number,
): Promise<number> {
  for (let number = first; ; number++) {
    try {
      await rename(from, join(parent, nameOf(number) + suffix));
      return number;
    } catch (error) {
      // Another member uses that number.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    }
  }
}

async function lastNumber(parent: string): Promise<number> {
  const names = await readdir(parent);
  return Math.max(0, ...names.map((name) => Number(NAME.exec(name)?.[1] ?? 0)));
}

async function removeStale(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const path = join(parent, name);
    if (NAME.exec(name)?.[2] === undefined && !(await isStaleTemporary(path, name))) continue;
    const lock = new DirectoryLock(path);
    // A directory that is locked, or cannot be locked, is in use or already removed.
    if ((await lock.isHeld()) || !(await tryAcquire(lock))) continue;
    await removeAll(path, parent).catch(ignored);
    await lock.release();
  }
}

async function isStaleTemporary(path: string, name: string): Promise<boolean> {
  if (!TEMPORARY_NAME.test(name)) return false;
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
  return Date.now() - mtimeMs > STALE_AGE_MS;
}

function tryAcquire(lock: DirectoryLock): Promise<boolean> {
  return lock.acquire().then(
    () => true,
    () => false,
  );
}

/** Removes a directory. This process must have locked it. */
async function removeAll(path: string, parent: string): Promise<void> {
  const own = join(parent, temporaryName());
  await rename(path, own);
  await rm(own, { recursive: true, force: true });
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function nameOf(number: number): string {
  return `backup-${number}`;
}

function temporaryName(): string {
  return `making-${randomBytes(8).toString('hex')}`;
}

/** The next backup retries the removal. */
function ignored(): void {}
