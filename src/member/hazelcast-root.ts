/**
 * The effect of a configuration file's root. A file with the root `hazelcast` is the original's,
 * for a member whose clients are the original's, so it turns `--compatibility hazelcast` on. A
 * configured `compatibility` overrides the root, and so does a path segment with another name.
 */

import type { Root } from '../config/config-file.ts';
import { type Finding, finding } from '../config/finding.ts';
import { quoted } from '../config/finding-list.ts';
import { type Assignment, sourceOf } from '../config/setting-table.ts';
import { sourceAt } from '../config/source.ts';
import type { Config } from './config.ts';
import { SETTINGS } from './settings.ts';

/** The original's root; also the name of the dialect and of its path segment. */
const ORIGINAL = 'hazelcast';

/**
 * Returns the assignment that the root makes; every other one overrides it. `others`: the other
 * assignments, in order of increasing precedence.
 */
export function assignmentsOfRoot(root: Root, others: readonly Assignment[]): Assignment[] {
  const segment = others.findLast(({ key }) => key === 'pathSegment')?.text ?? ORIGINAL;
  if (root.name !== ORIGINAL || segment !== ORIGINAL) return [];
  return [{ key: 'compatibility', text: ORIGINAL, source: sourceAt(root.at) }];
}

/** Returns a note about the root, if no source sets the dialect. */
export function notesOfRoot(root: Root, config: Config): Finding[] {
  if (root.name !== ORIGINAL) return [];
  const place = sourceAt(root.at).name;
  const source = sourceOf(config, SETTINGS.compatibility);
  const note = (rest: string) => [finding('note', `The root is ${ORIGINAL}, ${rest}`, place)];
  if (config.compatibility === ORIGINAL && source.name === place) {
    return note(
      `so --compatibility ${ORIGINAL} is on and paths begin with /${ORIGINAL}; ` +
        '--compatibility none turns it off',
    );
  }
  if (source.kind !== 'default') return [];
  const segment = quoted(config.pathSegment ?? '');
  return note(
    `but path segment ${segment} is configured, so --compatibility ${ORIGINAL} is off; the flag turns it on`,
  );
}
