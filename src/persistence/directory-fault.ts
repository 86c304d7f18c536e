/** The reason, in words, why a directory cannot be used. */

/** `error`: from making or opening the directory. */
export function directoryFault(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  // EEXIST: the path names a file; ENOTDIR: a part of the path above does.
  if (code === 'EEXIST') return 'it is a file, not a directory';
  if (code === 'ENOTDIR') return 'it, or a directory above it, is a file';
  return error instanceof Error ? error.message : String(error);
}
