/** Describes, for messages, why a directory cannot be used. Tested by cli/misuse.spec.ts. */

import { lstatSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '../base/errors.ts';

/** `error`: the error of creating or opening the directory. */
export function directoryFault(error: unknown): string {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  // EEXIST: the path names a file; ENOTDIR: a part of the path above does.
  if (code === 'EEXIST') return 'it is a file, not a directory';
  if (code === 'ENOTDIR') return 'it, or a directory above it, is a file';
  const dangling = code === 'ENOENT' && path !== undefined ? danglingLink(path) : undefined;
  if (dangling !== undefined) return dangling;
  return code === 'ENOENT' && syscall !== 'mkdir' ? 'no such directory' : reasonOf(error);
}

/**
 * Returns the fault of the path's innermost existing part if that is a symbolic link without a
 * target.
 */
function danglingLink(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    return dirname(path) === path ? undefined : danglingLink(dirname(path));
  }
  if (!found.isSymbolicLink()) return undefined;
  const link = JSON.stringify(path);
  const target = JSON.stringify(readlinkSync(path));
  return `${link} is a link to ${target}, which does not exist`;
}
