/**
 * Opens the data directories of commands, and reports their errors.
 * Tested by odd-directories.spec.ts.
 */
import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { GridError } from '../base/errors.ts';
import { directoryFault } from '../persistence/directory-fault.ts';
import { FileStorage } from '../persistence/file-storage.ts';
import { checkEmpty } from '../persistence/fill-directory.ts';
import { EXIT_FAILED, EXIT_NOT_USABLE, type ExitCode } from './exit-code.ts';
import type { Streams } from './output.ts';

/** Throws a TypeError that names the flag. */
export function openToRead(flag: string, directory: string): FileStorage {
  try {
    return new FileStorage(directory, true);
  } catch (error) {
    throw new TypeError(
      `Cannot use ${flag} ${JSON.stringify(directory)}: ${directoryFault(error)}`,
    );
  }
}

/**
 * Throws a TypeError that names the flag if `directory` is `source` or inside it: a command that reads a
 * directory does not change it. `role` describes the source in messages.
 */
export function checkOutside(flag: string, directory: string, source: string, role: string): void {
  // Opening it refuses a file.
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false) return;
  const inner = realPath(resolve(directory));
  const outer = realPath(resolve(source));
  const fault = `Cannot use ${flag} ${JSON.stringify(directory)}: it is`;
  if (inner === outer) throw new TypeError(`${fault} ${role}`);
  if (inner.startsWith(outer.endsWith(sep) ? outer : outer + sep)) {
    throw new TypeError(`${fault} in ${role}, ${JSON.stringify(source)}`);
  }
}

/** The path without links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}

/**
 * Runs `work` with an empty directory, which is locked meanwhile and created if it does not exist. After
 * a failure a created directory is removed. Rejects with GridError DATA_DIRECTORY_LOCKED,
 * DATA_DIRECTORY_UNUSABLE or DATA_DIRECTORY_NOT_EMPTY, or as `work` does.
 */
export async function withEmptyDirectory<Result>(
  directory: string,
  work: (target: FileStorage) => Promise<Result>,
): Promise<Result> {
  const target = openToWrite(directory);
  let isFilled = false;
  try {
    await lockToWrite(target, directory);
    await checkEmpty(target);
    const result = await work(target);
    isFilled = true;
    return result;
  } finally {
    await target.close();
    if (!isFilled) target.removeCreatedDirectories();
  }
}

function openToWrite(directory: string): FileStorage {
  try {
    return new FileStorage(directory);
  } catch (error) {
    throw unusable(directory, error);
  }
}

async function lockToWrite(storage: FileStorage, directory: string): Promise<void> {
  try {
    await storage.lock();
  } catch (error) {
    throw error instanceof GridError ? error : unusable(directory, error);
  }
}

function unusable(directory: string, error: unknown): GridError {
  return new GridError('DATA_DIRECTORY_UNUSABLE', { directory, reason: directoryFault(error) });
}

/** Runs `work`. Prints the reason of a failure and returns its exit code. */
export async function reportingDataFaults(
  { stderr }: Streams,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await work();
  } catch (error) {
    const isOfSystem = error instanceof Error && 'syscall' in error;
    if (!isOfSystem && !(error instanceof GridError)) throw error;
    stderr.write(`${error.message}\n`);
    const isUnusable = error instanceof GridError && NOT_USABLE.has(error.code);
    return isUnusable ? EXIT_NOT_USABLE : EXIT_FAILED;
  }
}

const NOT_USABLE: ReadonlySet<string> = new Set([
  'DATA_DIRECTORY_LOCKED',
  'DATA_DIRECTORY_UNUSABLE',
  'DATA_DIRECTORY_NOT_EMPTY',
  'DATA_FORMAT_OLDER',
  'DATA_FORMAT_NEWER',
  'DATA_RECORD_NEWER',
  'PARTITION_COUNT_CHANGED',
]);
