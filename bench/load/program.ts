/**
 * How Node runs one of our own programs: the compiled one when the caller itself is compiled, as in
 * `make bench`, so that no loader's heap lengthens the collections that a bench measures; through tsx
 * in the tests.
 */
import { extname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const extension = extname(import.meta.filename);
const loader = extension === '.ts' ? ['--import', 'tsx'] : [];

/** Those with which the executable starts Node (Makefile has why). */
export const NODE_FLAGS = ['--v8-pool-size=1'];

/** Node's arguments for a program; `path` starts at the project's root and has no extension. */
export function programWords(path: string): string[] {
  return [...NODE_FLAGS, ...loader, join(root, path + extension)];
}
