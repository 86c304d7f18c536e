/**
 * Arguments with which Node runs one of our own programs: the compiled one when the caller itself is
 * compiled, as in `make bench`, so that the heap of no loader lengthens the collections that a bench
 * measures; in the tests through tsx, but for the executable in `make test`, which has built it: that
 * starts in a sixth of the time.
 */
import { extname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const extension = extname(import.meta.filename);
const loader = extension === '.ts' ? ['--import', 'tsx'] : [];

/** The flags with which the executable starts Node (Makefile has the reason). */
export const NODE_FLAGS = ['--v8-pool-size=1'];

const EXECUTABLE = 'bin/gridnode';
const isBuilt = process.env.SPEC_PROGRAM === 'built';

/** Node's arguments for a program; `path` starts at the project's root and has no extension. */
export function programWords(path: string): string[] {
  if (isBuilt && path === EXECUTABLE) return [...NODE_FLAGS, join(root, 'dist', `${path}.js`)];
  return [...NODE_FLAGS, ...loader, join(root, path + extension)];
}
