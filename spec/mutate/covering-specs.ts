/**
 * The spec files that can notice a change to a source file: those that import it, directly or not.
 * The spec that tests the file is first, then those with the fewest imports between, and of these
 * first those of the source's own folder.
 */
import { dirname } from 'node:path';
import type { Import } from '../project-files.ts';

/** Returns the spec files among `files` in the order in which they should run. */
export function coveringSpecs(
  source: string,
  ownSpec: string,
  files: readonly string[],
  importsOf: (file: string) => readonly Import[],
): string[] {
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const { path, typesOnly } of importsOf(file)) {
      if (!typesOnly) importers.set(path, [...(importers.get(path) ?? []), file]);
    }
  }
  const distances = new Map([[source, 0]]);
  for (const [file, distance] of distances) {
    for (const importer of importers.get(file) ?? []) {
      if (!distances.has(importer)) distances.set(importer, distance + 1);
    }
  }
  const sameFolder = dirname(source).replace(/^src\b/, 'spec');
  const rank = (spec: string): number => {
    if (spec === ownSpec) return 0;
    return (distances.get(spec) ?? 0) * 2 + (dirname(spec) === sameFolder ? 0 : 1);
  };
  return [...distances.keys()]
    .filter((file) => file.endsWith('.spec.ts'))
    .sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
}
