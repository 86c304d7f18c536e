/** Files in a data directory that no member has written. They are reported and left alone. */
import { BACKUP } from './backup.ts';
import { isOfLock } from './directory-lock.ts';
import { NEW_SUFFIX } from './forced-start.ts';
import { LOG_END } from './log-end-file.ts';
import { MANIFEST } from './manifest.ts';
import { MARKS } from './marks-file.ts';
import { MEMBER } from './member-file.ts';
import { RESERVE } from './reserve.ts';
import { parseSegmentName } from './segment.ts';
import { parseWaitingName } from './waiting-file.ts';
import { TEMPORARY_SUFFIX } from './whole-file.ts';

const NAMES: ReadonlySet<string> = new Set([MANIFEST, MEMBER, LOG_END, MARKS, RESERVE, BACKUP]);
const SUFFIXES = [TEMPORARY_SUFFIX, NEW_SUFFIX];

/** The names that are not of a member's files, sorted. */
export function foreignFiles(names: readonly string[]): readonly string[] {
  return names.filter((name) => !isKnown(name)).sort();
}

function isKnown(name: string): boolean {
  if (NAMES.has(name) || isOfLock(name)) return true;
  if (parseSegmentName(name) !== undefined || parseWaitingName(name) !== undefined) return true;
  return SUFFIXES.some((suffix) => name.endsWith(suffix));
}
