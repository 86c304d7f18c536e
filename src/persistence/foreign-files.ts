/**
 * Foreign files: files in a data directory that were not written by a member. They are reported but
 * not changed. A file with the name of a segment or of a WAN queue file is foreign unless its
 * header fits the name.
 *
 * A link or a directory with the name of a member's file is refused: the member would not find its
 * data, and writing through a link would change files of another directory.
 */

import { GridError } from '../base/errors.ts';
import { counted } from '../base/quantities.ts';
import { NEW_SUFFIX, TEMPORARY_SUFFIX } from './atomic-file.ts';
import { BACKUP } from './backup.ts';
import { isLockName } from './directory-lock.ts';
import { INCOMPLETE_MARKER } from './fill-directory.ts';
import { LOG_END } from './log-end-file.ts';
import { MANIFEST } from './manifest.ts';
import { MARKS, UNSYNCED_MARKS } from './marks-file.ts';
import { MEMBER } from './member-file.ts';
import { RESERVE } from './reserve.ts';
import { parseSegmentName } from './segment.ts';
import type { Storage } from './storage.ts';
import { parseQueueFileName } from './wan-queue-file.ts';

const NAMES: ReadonlySet<string> = new Set([
  MANIFEST,
  MEMBER,
  LOG_END,
  MARKS,
  UNSYNCED_MARKS,
  RESERVE,
  BACKUP,
]);
/** Names, without the suffix, that only unfinished files have. */
const UNFINISHED: ReadonlySet<string> = new Set(['log', 'log-now', INCOMPLETE_MARKER]);
const SUFFIXES = [TEMPORARY_SUFFIX, NEW_SUFFIX];
/** Maximum number of files that a message names. */
const NAMED_MAX = 3;

/**
 * Rejects with GridError DATA_DIRECTORY_UNUSABLE if a directory entry with the name of a member's
 * file is not a file.
 */
export async function checkAllAreFiles(storage: Storage): Promise<void> {
  const others = (await storage.listNonFiles()).filter(({ name }) => isUsedByMember(name));
  if (others.length === 0) return;
  others.sort((a, b) => (a.name < b.name ? -1 : 1));
  const named = others.slice(0, NAMED_MAX).map(({ name, kind }) => `"${name}" is a ${kind}`);
  const left = others.length - NAMED_MAX;
  if (left > 0) named.push(counted(left, 'more is not a file', 'more are not files'));
  const reason = `${named.join(', ')}: a member's files must be in the directory itself`;
  throw new GridError('DATA_DIRECTORY_UNUSABLE', { directory: storage.path, reason });
}

/** Whether a member uses a file with this name. False for the lock, which is a socket. */
export function isUsedByMember(name: string): boolean {
  return isCompleteName(name) || name === INCOMPLETE_MARKER || isUnfinished(name);
}

/**
 * Returns the names that no file of a member has, sorted. The names of segments and WAN queue files
 * are not checked against their headers.
 */
export function foreignFiles(names: readonly string[]): readonly string[] {
  return names
    .filter((name) => !isCompleteName(name) && !isUnfinished(name) && !isLockName(name))
    .sort();
}

/** Whether a file with this name was incomplete when its process ended. */
export function isUnfinished(name: string): boolean {
  const suffix = SUFFIXES.find((each) => name.endsWith(each));
  if (suffix === undefined) return false;
  const whole = name.slice(0, -suffix.length);
  return isCompleteName(whole) || UNFINISHED.has(whole) || isUnfinished(whole);
}

/** Whether a member gives this name to a complete file. */
function isCompleteName(name: string): boolean {
  if (NAMES.has(name)) return true;
  return parseSegmentName(name) !== undefined || parseQueueFileName(name) !== undefined;
}
