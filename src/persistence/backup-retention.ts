/**
 * Lists the backups in a directory, of one member or of several, and removes old ones. Only a
 * directory named `backup-<n>` whose list of files is readable and matches the files is a backup.
 * All others are foreign, incomplete or damaged, and are not removed.
 *
 * A backup is locked while it is removed, so that a backup that is still being created, or from
 * which a member serves, is never removed. It is renamed first, so that a directory with the name
 * of a backup is complete at all times. Tested by cli/backup-commands.spec.ts.
 */

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { GridError, reasonOf } from '../base/errors.ts';
import { counted } from '../base/quantities.ts';
import { DirectoryLock } from './directory-lock.ts';
import { FileStorage } from './file-storage.ts';
import { readMemberFile } from './member-file.ts';
import { readBackupList } from './restore.ts';

const NAME = /^backup-(\d{1,15})$/;

interface StoredBackup {
  readonly name: string;
  /** The time of its data, in ISO 8601. */
  readonly of: string;
  /** The member's uuid; undefined if it had none. */
  readonly member: string | undefined;
  readonly bytes: number;
}

/** A directory with the name of a backup that is not a complete backup. */
interface UnreadableBackup {
  readonly name: string;
  readonly reason: string;
}

export interface StoredBackups {
  /** The complete backups, oldest first. */
  readonly whole: readonly StoredBackup[];
  readonly unreadable: readonly UnreadableBackup[];
}

/**
 * Lists the backups. Reads only the list, the file `member` and the lengths of the files of each
 * backup. Rejects with the system's error.
 */
export async function listBackups(directory: string): Promise<StoredBackups> {
  const whole: StoredBackup[] = [];
  const unreadable: UnreadableBackup[] = [];
  const names = (await readdir(directory)).filter((name) => NAME.test(name));
  for (const name of names.sort((a, b) => numberOf(a) - numberOf(b))) {
    try {
      whole.push(await readBackup(directory, name));
    } catch (error) {
      unreadable.push({ name, reason: reasonOf(error) });
    }
  }
  // Sorting is stable: of two backups with the same time, the one with the lower number counts as
  // older.
  whole.sort((a, b) => Date.parse(a.of) - Date.parse(b.of));
  return { whole, unreadable };
}

/** Returns the backups of each member beyond its newest `count`, oldest first. */
export function backupsBeyond(backups: readonly StoredBackup[], count: number): StoredBackup[] {
  const newer = new Map<string | undefined, number>();
  const beyond = [...backups].reverse().filter(({ member }) => {
    const seen = newer.get(member) ?? 0;
    newer.set(member, seen + 1);
    return seen >= count;
  });
  return beyond.reverse();
}

/**
 * Removes a backup. Resolves with false if a process has locked it; then it is not removed. Rejects
 * with the system's error.
 */
export async function removeBackup(directory: string, name: string): Promise<boolean> {
  const path = join(directory, name);
  const lock = new DirectoryLock(path);
  try {
    await lock.acquire();
  } catch (error) {
    if (error instanceof GridError) return false;
    throw error;
  }
  try {
    // The temporary name of a backup that is being created or removed (backup-directory.ts).
    const aside = join(directory, `making-${randomBytes(8).toString('hex')}`);
    await rename(path, aside);
    await rm(aside, { recursive: true, force: true });
  } finally {
    await lock.release();
  }
  return true;
}

async function readBackup(directory: string, name: string): Promise<StoredBackup> {
  const storage = new FileStorage(join(directory, name), true);
  const { of, files } = await readBackupList(storage);
  if (Number.isNaN(Date.parse(of))) throw new Error(`its list has "${of}" instead of a time`);
  let bytes = 0;
  for (const file of files) {
    const path = join(directory, name, file.name);
    if (!existsSync(path)) throw new Error(`"${file.name}" is missing`);
    const { size } = await stat(path);
    if (size !== file.bytes)
      throw new Error(`"${file.name}" has ${counted(size, 'byte')}, not ${file.bytes}`);
    bytes += size;
  }
  const { uuid } = await readMemberFile(storage);
  return { name, of, member: uuid, bytes };
}

function numberOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}
