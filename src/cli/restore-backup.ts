/** `gridnode restore`: makes a data directory from a backup. Tested by odd-directories.spec.ts. */
import { restore } from '../persistence/restore.ts';
import {
  checkOutside,
  openToRead,
  reportingDataFaults,
  withEmptyDirectory,
} from './data-directories.ts';
import { EXIT_CLEAN, type ExitCode } from './exit-code.ts';
import { printLine, type Streams } from './output.ts';
import { Progress } from './progress.ts';

export interface Restoring {
  readonly from: string;
  readonly dataDir: string;
  readonly newMember?: true;
  readonly json?: true;
}

export async function restoreBackup(
  { from, dataDir, newMember, json }: Restoring,
  streams: Streams,
): Promise<ExitCode> {
  return await reportingDataFaults(streams, async () => {
    const source = openToRead('--from', from);
    checkOutside('--data-dir', dataDir, from, 'the backup to restore');
    const progress = new Progress(streams, 'restoring');
    const { of, files } = await withEmptyDirectory(dataDir, (target) =>
      restore(source, target, progress.add, newMember === true),
    ).finally(() => progress.end());
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const summary = `${files.length} files of ${bytes} bytes: the data stored at ${of}`;
    await printLine(streams, json ? JSON.stringify({ of, files: files.length, bytes }) : summary);
    return EXIT_CLEAN;
  });
}
