/**
 * Node's arguments for running one of our own programs. A compiled caller, as in `make bench`, runs
 * the compiled program, so that no loader's heap lengthens the collections that a bench measures.
 * In the tests the program runs through tsx, except the executable in `make test`, which has been
 * built and starts in a sixth of the time.
 */
import { extname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const extension = extname(import.meta.filename);
const loader = extension === '.ts' ? ['--import', 'tsx'] : [];

/** The flags with which the executable starts Node (the Makefile explains them). */
export const NODE_FLAGS = ['--v8-pool-size=1'];

const EXECUTABLE = 'bin/gridnode';
const isBuilt = process.env.SPEC_PROGRAM === 'built';

/**
 * Returns Node's arguments for a program; `path` is relative to the project's root, no extension.
 */
export function programWords(path: string): string[] {
  if (isBuilt && path === EXECUTABLE) return [...NODE_FLAGS, join(root, 'dist', `${path}.js`)];
  return [...NODE_FLAGS, ...loader, join(root, path + extension)];
}
