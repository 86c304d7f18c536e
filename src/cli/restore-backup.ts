/** `gridnode restore`: makes a data directory from a backup. */
import { restore } from '../persistence/restore.ts';
import { openToRead, openToWrite, reportingDataFaults } from './data-directories.ts';
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
    const target = await openToWrite(dataDir);
    const progress = new Progress(streams, 'restoring');
    const { of, files } = await restore(source, target, progress.add, newMember === true).finally(
      async () => {
        progress.end();
        await target.close();
      },
    );
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const told = `${files.length} files of ${bytes} bytes: the data stored at ${of}`;
    await printLine(streams, json ? JSON.stringify({ of, files: files.length, bytes }) : told);
    return EXIT_CLEAN;
  });
}
