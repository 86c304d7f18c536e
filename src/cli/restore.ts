/** `gridnode restore`: makes a data directory of a backup. */
import { restore } from '../persistence/restore.ts';
import { printLine, type Streams } from './client-io.ts';
import { openToRead, openToWrite, reportingDataFaults } from './data-directories.ts';
import { EXIT_CLEAN, type ExitCode } from './exit-code.ts';

export interface Restoring {
  readonly from: string;
  readonly dataDir: string;
}

export async function restoreBackup(
  { from, dataDir }: Restoring,
  streams: Streams,
): Promise<ExitCode> {
  return await reportingDataFaults(streams, async () => {
    const source = openToRead('--from', from);
    const target = await openToWrite(dataDir);
    try {
      const { of, files } = await restore(source, target);
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      await printLine(streams, `${files.length} files of ${bytes} bytes: what was stored at ${of}`);
      return EXIT_CLEAN;
    } finally {
      await target.close();
    }
  });
}
