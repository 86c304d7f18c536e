/** What stands here for an option of the JVM, which the original has and this member has not. */

const INSTEAD: readonly (readonly [option: RegExp, instead: string])[] = [
  [/^-Dhazelcast\.config(=|$)/, '--config or GRID_CONFIG names the configuration file'],
  [/^-D(hazelcast|hz)\./, 'settings are flags, variables (GRID_…), or stand in the file'],
  [/^-Xm[sx]/, '--max-memory limits what stored data takes'],
];

/** In the words of INSTEAD; undefined for an option that has nothing to do with the member. */
export function insteadOfJavaOption(option: string): string | undefined {
  return INSTEAD.find(([pattern]) => pattern.test(option))?.[1];
}

/** The same of several options, parted by blanks: each text once. */
export function insteadOfJavaOptions(options: string): readonly string[] {
  const found = options.split(/\s+/).map(insteadOfJavaOption);
  return [...new Set(found.filter((instead) => instead !== undefined))];
}
