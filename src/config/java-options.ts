/** Replacements for options of the JVM, which runs the original but not this member. */

const INSTEAD: readonly (readonly [option: RegExp, instead: string])[] = [
  [/^-Dhazelcast\.config(=|$)/, '--config or GRID_CONFIG names the configuration file'],
  [/^-D(hazelcast|hz)\./, 'settings are flags, variables (GRID_…), or stand in the file'],
  [/^-Xm[sx]/, '--max-memory limits the memory for stored data'],
];

/** A text of INSTEAD; undefined for an option that does not concern the member. */
export function insteadOfJavaOption(option: string): string | undefined {
  return INSTEAD.find(([pattern]) => pattern.test(option))?.[1];
}

/** The same for several options, separated by white space; each text once. */
export function insteadOfJavaOptions(options: string): readonly string[] {
  const found = options.split(/\s+/).map(insteadOfJavaOption);
  return [...new Set(found.filter((instead) => instead !== undefined))];
}
