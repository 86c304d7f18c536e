/** Opens the data directories that commands are given, and reports their faults. */
import { GridError } from '../base/errors.ts';
import { directoryFault } from '../persistence/directory-fault.ts';
import { FileStorage } from '../persistence/file-storage.ts';
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
 * Creates the directory where it is missing, and locks it. Rejects with GridError DATA_DIRECTORY_LOCKED
 * or DATA_DIRECTORY_UNUSABLE.
 */
export async function openToWrite(directory: string): Promise<FileStorage> {
  try {
    const storage = new FileStorage(directory);
    await storage.lock();
    return storage;
  } catch (error) {
    if (error instanceof GridError) throw error;
    throw new GridError('DATA_DIRECTORY_UNUSABLE', { directory, reason: directoryFault(error) });
  }
}

/** Does the work. The reason of a failure is printed, and the exit code tells its kind. */
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
  ...['DATA_DIRECTORY_LOCKED', 'DATA_DIRECTORY_UNUSABLE', 'DATA_DIRECTORY_NOT_EMPTY'],
  ...['DATA_FORMAT_OLDER', 'DATA_FORMAT_NEWER', 'DATA_RECORD_NEWER', 'PARTITION_COUNT_CHANGED'],
]);
