/** Why a directory cannot be used, in words. */

/** What making or opening it was refused with. */
export function directoryFault(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  // EEXIST: it is a file itself; ENOTDIR: something above it is.
  if (code === 'EEXIST') return 'it is a file, not a directory';
  if (code === 'ENOTDIR') return 'it, or what it is in, is a file, not a directory';
  return error instanceof Error ? error.message : String(error);
}
