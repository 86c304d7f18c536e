/**
 * Files in a data directory that no member has written. They are reported and left alone. A file with the
 * name of a segment, or of what waits for WAN publishers, is one of them unless it has the header of that
 * name.
 */
import { BACKUP } from './backup.ts';
import { isOfLock } from './directory-lock.ts';
import { NEW_SUFFIX } from './forced-start.ts';
import { LOG_END } from './log-end-file.ts';
import { MANIFEST } from './manifest.ts';
import { MARKS, UNSYNCED_MARKS } from './marks-file.ts';
import { MEMBER } from './member-file.ts';
import { RESERVE } from './reserve.ts';
import { parseSegmentName } from './segment.ts';
import { parseWaitingName } from './waiting-file.ts';
import { TEMPORARY_SUFFIX } from './whole-file.ts';

const NAMES: ReadonlySet<string> = new Set([
  MANIFEST,
  MEMBER,
  LOG_END,
  MARKS,
  UNSYNCED_MARKS,
  RESERVE,
  BACKUP,
]);
/** Names that only unfinished files have, without the suffix. */
const UNFINISHED: ReadonlySet<string> = new Set(['log', 'log-now', 'restoring']);
const SUFFIXES = [TEMPORARY_SUFFIX, NEW_SUFFIX];

/** The names that are not of a member's files, sorted. Names of segments and the like are taken for such. */
export function foreignFiles(names: readonly string[]): readonly string[] {
  return names.filter((name) => !isKnown(name) && !isUnfinished(name)).sort();
}

/** Whether the file was not yet whole when its process ended. */
export function isUnfinished(name: string): boolean {
  const suffix = SUFFIXES.find((each) => name.endsWith(each));
  if (suffix === undefined) return false;
  const whole = name.slice(0, -suffix.length);
  return isKnown(whole) || UNFINISHED.has(whole) || isUnfinished(whole);
}

function isKnown(name: string): boolean {
  if (NAMES.has(name) || isOfLock(name)) return true;
  return parseSegmentName(name) !== undefined || parseWaitingName(name) !== undefined;
}
