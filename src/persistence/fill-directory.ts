/**
 * Fills an empty directory with data from elsewhere. A file `restoring` lies in the directory until all data
 * is there and durable, so that a part is never taken for the whole: a member does not start on such a
 * directory. After an interruption the directory can be filled again. Nothing else may be in it, not even
 * an empty directory.
 */
import { GridError } from '../base/errors.ts';
import { writeCheckedFile } from './checked-file.ts';
import { isOfLock } from './directory-lock.ts';
import { MANIFEST } from './manifest.ts';
import { MEMBER } from './member-file.ts';
import { parseSegmentName } from './segment.ts';
import type { Storage } from './storage.ts';
import { TEMPORARY_SUFFIX } from './whole-file.ts';

/** The file's name. */
export const MARKER = 'restoring';

/** Rejects with GridError DATA_NOT_WHOLE where filling the directory has not ended. */
export async function checkFilled(storage: Storage): Promise<void> {
  if (!(await storage.list()).includes(MARKER)) return;
  throw new GridError('DATA_NOT_WHOLE', { directory: storage.place });
}

/**
 * `work` writes files, which must be durable when it ends. Rejects with GridError
 * DATA_DIRECTORY_NOT_EMPTY, or as `work` does; then none of its files is left.
 */
export async function fillDirectory<Result>(
  storage: Storage,
  work: () => Promise<Result>,
): Promise<Result> {
  await checkEmpty(storage);
  await empty(storage);
  await writeCheckedFile(storage, MARKER, {});
  try {
    const result = await work();
    await storage.syncDirectory();
    await storage.remove(MARKER);
    await storage.syncDirectory();
    return result;
  } catch (error) {
    await empty(storage);
    await storage.remove(MARKER);
    throw error;
  }
}

/** Rejects with GridError DATA_DIRECTORY_NOT_EMPTY where fillDirectory would. Changes nothing. */
export async function checkEmpty(storage: Storage): Promise<void> {
  const names = await storage.list();
  const others = (await storage.listOthers()).map(({ name }) => name);
  const files = names.includes(MARKER) ? names.filter((name) => !isOfAttempt(name)) : names;
  const [file] = [...files, ...others].filter((name) => !isOfLock(name)).sort();
  if (file === undefined) return;
  throw new GridError('DATA_DIRECTORY_NOT_EMPTY', { directory: storage.place, file });
}

/** Removes the files that an attempt has written, but for the marker. */
async function empty(storage: Storage): Promise<void> {
  for (const name of await storage.list()) {
    if (name !== MARKER && isOfAttempt(name)) await storage.remove(name);
  }
}

/** Whether an attempt to fill a directory writes a file of that name. */
function isOfAttempt(name: string): boolean {
  const whole = name.endsWith(TEMPORARY_SUFFIX) ? name.slice(0, -TEMPORARY_SUFFIX.length) : name;
  return [MARKER, MANIFEST, MEMBER].includes(whole) || parseSegmentName(whole) !== undefined;
}
