/** The reason, in words, why a directory cannot be used. */
import { lstatSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';

/** `error`: from making or opening the directory. */
export function directoryFault(error: unknown): string {
  const { code, path } = error as NodeJS.ErrnoException;
  // EEXIST: the path names a file; ENOTDIR: a part of the path above does.
  if (code === 'EEXIST') return 'it is a file, not a directory';
  if (code === 'ENOTDIR') return 'it, or a directory above it, is a file';
  const dangling = code === 'ENOENT' && path !== undefined ? danglingLink(path) : undefined;
  return dangling ?? (error instanceof Error ? error.message : String(error));
}

/** The fault of the path's innermost part that exists, where that is a link that leads nowhere. */
function danglingLink(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    return dirname(path) === path ? undefined : danglingLink(dirname(path));
  }
  if (!found.isSymbolicLink()) return undefined;
  const [link, target] = [path, readlinkSync(path)].map((each) => JSON.stringify(each));
  return `${link} is a link to ${target}, which does not exist`;
}
