/**
 * Fills an empty directory with data from elsewhere. A file `restoring` lies in the directory until all data
 * is there and durable, so that a part is never taken for the whole: a member does not start on such a
 * directory. After an interruption the directory can be filled again.
 */
import { GridError } from '../base/errors.ts';
import { writeCheckedFile } from './checked-file.ts';
import { isOfLock } from './directory-lock.ts';
import { MANIFEST } from './manifest.ts';
import { MEMBER } from './member-file.ts';
import { parseSegmentName } from './segment.ts';
import type { Storage } from './storage.ts';

const MARKER = 'restoring';

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
  const names = await storage.list();
  const file = names.find((name) => !isOfLock(name));
  if (names.includes(MARKER)) await empty(storage);
  else if (file !== undefined) {
    throw new GridError('DATA_DIRECTORY_NOT_EMPTY', { directory: storage.place, file });
  }
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

/** Removes the files that an attempt has written. */
async function empty(storage: Storage): Promise<void> {
  for (const name of await storage.list()) {
    const isOurs = [MANIFEST, MEMBER].includes(name) || name.endsWith('.tmp');
    if (isOurs || parseSegmentName(name) !== undefined) await storage.remove(name);
  }
}
