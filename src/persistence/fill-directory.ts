/**
 * Fills an empty directory with data from another place. The directory contains a file `restoring`
 * until all data is complete and durable, so that a member does not start on incomplete data. After
 * an interruption the directory can be filled again. It may contain nothing else, not even an empty
 * directory. Tested by backup.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import { TEMPORARY_SUFFIX } from './atomic-file.ts';
import { writeCheckedFile } from './checked-file.ts';
import { isLockName } from './directory-lock.ts';
import { MANIFEST } from './manifest.ts';
import { MEMBER } from './member-file.ts';
import { parseSegmentName } from './segment.ts';
import type { Storage } from './storage.ts';

/** The name of the file that marks an incomplete directory. */
export const INCOMPLETE_MARKER = 'restoring';

/** Rejects with GridError DATA_NOT_WHOLE if filling the directory was not completed. */
export async function checkComplete(storage: Storage): Promise<void> {
  if (!(await storage.list()).includes(INCOMPLETE_MARKER)) return;
  throw new GridError('DATA_NOT_WHOLE', { directory: storage.path });
}

/**
 * Fills the directory by calling `work`, which writes files that must be durable when it ends.
 * Rejects with GridError DATA_DIRECTORY_NOT_EMPTY, or as `work` does after removing its files.
 */
export async function fillDirectory<Result>(
  storage: Storage,
  work: () => Promise<Result>,
): Promise<Result> {
  await checkEmpty(storage);
  await removeFilesOfAttempt(storage);
  await writeCheckedFile(storage, INCOMPLETE_MARKER, {});
  try {
    const result = await work();
    await storage.syncDirectory();
    await storage.remove(INCOMPLETE_MARKER);
    await storage.syncDirectory();
    return result;
  } catch (error) {
    await removeFilesOfAttempt(storage);
    await storage.remove(INCOMPLETE_MARKER);
    throw error;
  }
}

/**
 * Rejects with GridError DATA_DIRECTORY_NOT_EMPTY if fillDirectory would reject with it. Changes
 * nothing.
 */
export async function checkEmpty(storage: Storage): Promise<void> {
  const names = await storage.list();
  const others = (await storage.listNonFiles()).map(({ name }) => name);
  const files = names.includes(INCOMPLETE_MARKER)
    ? names.filter((name) => !isOfAttempt(name))
    : names;
  const [file] = [...files, ...others].filter((name) => !isLockName(name)).sort();
  if (file === undefined) return;
  throw new GridError('DATA_DIRECTORY_NOT_EMPTY', { directory: storage.path, file });
}

/** Removes the files that an attempt has written, except the marker. */
async function removeFilesOfAttempt(storage: Storage): Promise<void> {
  for (const name of await storage.list()) {
    if (name !== INCOMPLETE_MARKER && isOfAttempt(name)) await storage.remove(name);
  }
}

/** Whether an attempt to fill a directory writes a file with this name. */
function isOfAttempt(name: string): boolean {
  const whole = name.endsWith(TEMPORARY_SUFFIX) ? name.slice(0, -TEMPORARY_SUFFIX.length) : name;
  return (
    [INCOMPLETE_MARKER, MANIFEST, MEMBER].includes(whole) || parseSegmentName(whole) !== undefined
  );
}
