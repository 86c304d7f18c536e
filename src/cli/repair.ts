/** `gridnode repair`: tells what is damaged in a data directory, and saves the rest elsewhere. */
import { resolve } from 'node:path';
import { SETTINGS } from '../config/settings.ts';
import { repair } from '../persistence/repair.ts';
import type { Finding } from '../persistence/salvage.ts';
import { printLine, type Streams } from './client-io.ts';
import { openToRead, openToWrite, reportingDataFaults } from './data-directories.ts';
import { EXIT_CLEAN, EXIT_FAILED, type ExitCode } from './exit-code.ts';

export interface Repairing {
  readonly dataDir: string;
  readonly to?: string;
  readonly partitionCount: string;
}

/** Damage that nothing was saved from is a failure. */
export async function repairData(given: Repairing, streams: Streams): Promise<ExitCode> {
  const { dataDir, to } = given;
  const partitionCount = readCount(given.partitionCount);
  if (to !== undefined && resolve(to) === resolve(dataDir)) {
    throw new TypeError(`Cannot use --to ${JSON.stringify(to)}: that is what is to be repaired`);
  }
  return await reportingDataFaults(streams, async () => {
    const source = openToRead('--data-dir', dataDir);
    await lockWherePossible(source);
    const target = to === undefined ? undefined : await openToWrite(to);
    const lines: string[] = [];
    try {
      const breathe = () => new Promise<void>((next) => setImmediate(next));
      const onFinding = (finding: Finding) => lines.push(describe(finding));
      const now = () => performance.now();
      const work = repair({ source, partitionCount, onFinding, now, breathe }, target);
      const { records, bytes, damages } = await work;
      const damaged = damages === 1 ? '1 damage' : `${damages} damages`;
      const whole = `${records} records of ${bytes} bytes are whole`;
      lines.push(
        to === undefined ? `${damaged}; ${whole}` : `${damaged}; ${whole}, and in "${to}"`,
      );
      return damages === 0 || to !== undefined ? EXIT_CLEAN : EXIT_FAILED;
    } finally {
      await source.close();
      await target?.close();
      for (const line of lines) await printLine(streams, line);
    }
  });
}

/** A member that runs must not be read beside; on a disk that is only read none does. */
async function lockWherePossible(storage: { lock(): Promise<void> }): Promise<void> {
  try {
    await storage.lock();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
  }
}

function describe({ file, offset, what }: Finding): string {
  return offset === undefined ? `${file}: ${what}` : `${file}: at byte ${offset}: ${what}`;
}

function readCount(text: string): number {
  const { parse, expects } = SETTINGS.partitionCount;
  const parsed = parse(text);
  if ('value' in parsed) return parsed.value;
  throw new RangeError(`Cannot use --partition-count ${JSON.stringify(text)}: not ${expects}`);
}
