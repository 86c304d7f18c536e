/**
 * `gridnode repair`: lists the damage in a data directory, and saves the readable data elsewhere.
 * Tested by odd-directories.spec.ts.
 */
import { counted, sizeText } from '../base/quantities.ts';
import { SETTINGS } from '../member/settings.ts';
import type { Finding } from '../persistence/findings.ts';
import { isUsedByMember } from '../persistence/foreign-files.ts';
import { repair } from '../persistence/repair.ts';
import type { Salvaged } from '../persistence/salvage.ts';
import {
  checkOutside,
  openToRead,
  reportingDataFaults,
  withEmptyDirectory,
} from './data-directories.ts';
import { EXIT_CLEAN, EXIT_FAILED, type ExitCode } from './exit-code.ts';
import { printLine, type Streams } from './output.ts';
import { Progress } from './progress.ts';

export interface Repairing {
  readonly dataDir: string;
  readonly to?: string;
  readonly partitionCount: string;
  readonly json?: true;
}

/** Returns EXIT_FAILED for damage if no readable data was saved. */
export async function repairData(options: Repairing, streams: Streams): Promise<ExitCode> {
  const { dataDir, to } = options;
  const partitionCount = readCount(options.partitionCount);
  return await reportingDataFaults(streams, async () => {
    const source = openToRead('--data-dir', dataDir);
    if (to !== undefined) checkOutside('--to', to, dataDir, 'the directory to repair');
    await lockWherePossible(source);
    const hasData = (await source.list()).some(isUsedByMember);
    const findings: Finding[] = [];
    const progress = new Progress(streams, 'repairing');
    const beginMs = performance.now();
    let saved: Salvaged | undefined;
    try {
      const yieldToEventLoop = () => {
        const seconds = Math.floor((performance.now() - beginMs) / 1000);
        progress.show(`${seconds} s, ${counted(findings.length, 'finding')}`);
        return new Promise<void>((next) => setImmediate(next));
      };
      const onFinding = (finding: Finding) => findings.push(finding);
      const now = () => performance.now();
      const options = { source, partitionCount, onFinding, now, yieldToEventLoop };
      saved =
        to === undefined
          ? await repair(options)
          : await withEmptyDirectory(to, (target) => repair(options, target));
      const { damages } = saved;
      return damages === 0 || to !== undefined ? EXIT_CLEAN : EXIT_FAILED;
    } finally {
      progress.end();
      await source.close();
      await printFindings(streams, options, hasData, findings, saved);
    }
  });
}

/**
 * `hasData`: whether the directory has files with the names of a member's. Without `saved` the work
 * has failed, and the reason has been printed.
 */
async function printFindings(
  streams: Streams,
  { dataDir, to, json }: Repairing,
  hasData: boolean,
  findings: readonly Finding[],
  saved: Salvaged | undefined,
): Promise<void> {
  if (json) {
    const { records = 0, bytes = 0, damages = 0 } = saved ?? {};
    const summary = { isDone: saved !== undefined, findings, damages, records, bytes };
    return await printLine(streams, JSON.stringify(summary));
  }
  for (const finding of findings) await printLine(streams, describe(finding));
  if (saved === undefined) return;
  const { records, bytes, damages } = saved;
  if (!hasData && records === 0 && damages === 0) {
    return await printLine(streams, `no data: "${dataDir}" has no file of a member`);
  }
  const whole = `${counted(records, 'record')}, ${sizeText(bytes)}`;
  const found = damages === 0 ? 'no damage' : `damage in ${counted(damages, 'place')}`;
  if (to !== undefined) await printLine(streams, `${found}; saved to "${to}": ${whole}`);
  else await printLine(streams, damages === 0 ? `${found}: ${whole}` : `${found}; whole: ${whole}`);
}

/**
 * Locks the directory, because the data of a running member must not be read. A member cannot run
 * on a read-only disk.
 */
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
