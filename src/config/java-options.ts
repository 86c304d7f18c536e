/**
 * Replacements for options of the JVM, on which the original runs but not this member.
 * Tested by environment.spec.ts.
 */

const INSTEAD: readonly (readonly [option: RegExp, instead: string])[] = [
  [/^-Dhazelcast\.config(=|$)/, 'use --config or GRID_CONFIG for the configuration file'],
  [/^-D(hazelcast|hz)\./, 'use flags, GRID_ variables or the file for settings'],
  [/^-Xm[sx]/, 'use --max-memory to limit the memory for stored data'],
];

/** Returns the replacement, or undefined for an option that does not concern the member. */
export function insteadOfJavaOption(option: string): string | undefined {
  return INSTEAD.find(([pattern]) => pattern.test(option))?.[1];
}

/** Returns the replacements for options separated by white space, each text once. */
export function insteadOfJavaOptions(options: string): readonly string[] {
  const found = options.split(/\s+/).map(insteadOfJavaOption);
  return [...new Set(found.filter((instead) => instead !== undefined))];
}
