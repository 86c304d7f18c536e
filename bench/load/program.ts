/**
 * Arguments with which Node runs one of our own programs: the compiled one when the caller itself is
 * compiled, as in `make bench`, so that the heap of no loader lengthens the collections that a bench
 * measures; in the tests through tsx.
 */
import { extname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const extension = extname(import.meta.filename);
const loader = extension === '.ts' ? ['--import', 'tsx'] : [];

/** The flags with which the executable starts Node (Makefile has the reason). */
export const NODE_FLAGS = ['--v8-pool-size=1'];

/** Node's arguments for a program; `path` starts at the project's root and has no extension. */
export function programWords(path: string): string[] {
  return [...NODE_FLAGS, ...loader, join(root, path + extension)];
}
