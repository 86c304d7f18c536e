/**
 * Where a backup is written: `backup-<n>.tmp` below the directory for backups, which becomes
 * `backup-<n>` in one step when all of it is there. It is locked as long as somebody writes to it;
 * what is found unlocked was left by a process that ended, and is removed. So several members may
 * share a directory.
 */
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { GridError } from '../base/errors.ts';
import { DIRECTORY_MODE, FileStorage } from './file-storage.ts';
import { TEMPORARY_SUFFIX } from './whole-file.ts';

const NAME = /^backup-(\d{1,15})(\.tmp)?$/;

export class BackupDirectory {
  readonly storage: FileStorage;
  readonly #parent: string;
  #number: number;

  private constructor(parent: string, number: number) {
    this.#parent = parent;
    this.#number = number;
    this.storage = new FileStorage(this.#temporary);
  }

  /** Makes a new one below `parent`, which is made, too. Rejects with the system's error. */
  static async begin(parent: string): Promise<BackupDirectory> {
    const place = resolve(parent);
    await mkdir(place, { recursive: true, mode: DIRECTORY_MODE });
    const numbers = (await readdir(place)).map((name) => Number(NAME.exec(name)?.[1] ?? 0));
    await removeLeftOver(place);
    for (let number = Math.max(0, ...numbers) + 1; ; number++) {
      try {
        await mkdir(join(place, nameOf(number) + TEMPORARY_SUFFIX), { mode: DIRECTORY_MODE });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
        throw error;
      }
      const directory = new BackupDirectory(place, number);
      await directory.storage.lock();
      return directory;
    }
  }

  get #temporary(): string {
    return join(this.#parent, nameOf(this.#number) + TEMPORARY_SUFFIX);
  }

  /** What is in it is a backup from now on. Resolves with its path. */
  async keep(): Promise<string> {
    const from = this.#temporary;
    await this.storage.close();
    await this.storage.remove('lock');
    await this.storage.syncDirectory();
    for (;;) {
      const to = join(this.#parent, nameOf(this.#number));
      try {
        await rename(from, to);
      } catch (error) {
        // Another member had the same number.
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
        this.#number++;
        continue;
      }
      await syncDirectory(this.#parent);
      return to;
    }
  }

  async discard(): Promise<void> {
    await this.storage.close();
    await rm(this.#temporary, { recursive: true, force: true });
  }
}

async function removeLeftOver(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (NAME.exec(name)?.[2] === undefined) continue;
    const path = join(parent, name);
    const storage = new FileStorage(path);
    try {
      await storage.lock();
      await storage.close();
      await rm(path, { recursive: true, force: true });
    } catch (error) {
      if (!(error instanceof GridError)) throw error;
    }
  }
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
