/**
 * The meaning of a configuration file's root. A file with the root `hazelcast` is the original's, for a
 * member whose clients are the original's, so it turns `--compatibility hazelcast` on. A configured
 * `compatibility` outweighs the root, and so does a path segment of another name.
 */
import { type Assignment, type Config, configSourceOf, type Source } from './config.ts';
import { formatPlace, type Place } from './place.ts';
import { quoted } from './problems.ts';

/** The root of a file. */
export interface Root {
  readonly name: string;
  readonly at: Place;
}

/** The original's root; also the name of the dialect and of its path segment. */
const ORIGINAL = 'hazelcast';

/**
 * The assignment that the root makes; every other one outweighs it. `others`: the other assignments, in
 * the order of rising weight.
 */
export function assignmentsOfRoot(root: Root, others: readonly Assignment[]): Assignment[] {
  const segment = others.findLast(({ key }) => key === 'pathSegment')?.text ?? ORIGINAL;
  if (root.name !== ORIGINAL || segment !== ORIGINAL) return [];
  return [{ key: 'compatibility', text: ORIGINAL, source: sourceOfRoot(root) }];
}

/** The line of the log about the root, where no source sets the dialect; else none. */
export function notesOfRoot(root: Root, config: Config): string[] {
  if (root.name !== ORIGINAL) return [];
  const place = sourceOfRoot(root).name;
  const source = configSourceOf(config, 'compatibility');
  const said = `${place}: The root is ${ORIGINAL}, `;
  if (config.compatibility === ORIGINAL && source.name === place) {
    return [
      `${said}so --compatibility ${ORIGINAL} is on and paths begin with /${ORIGINAL}; ` +
        '--compatibility none turns it off',
    ];
  }
  if (source.kind !== 'default') return [];
  const segment = quoted(config.pathSegment ?? '');
  return [
    `${said}but path segment ${segment} is configured, so --compatibility ${ORIGINAL} is off; the flag turns it on`,
  ];
}

function sourceOfRoot({ at }: Root): Source {
  return { kind: 'file', name: formatPlace(at) };
}
