/**
 * `gridnode backup list`, `verify` and `prune`: the backups in a directory, without a member; and
 * `gridnode restore`.
 */

import { join } from 'node:path';
import { GridError } from '../base/errors.ts';
import { counted } from '../base/quantities.ts';
import {
  backupsBeyond,
  listBackups,
  removeBackup,
  type StoredBackups,
} from '../persistence/backup-retention.ts';
import { restore, verifyBackup } from '../persistence/restore.ts';
import {
  checkOutside,
  openToRead,
  reportingDataFaults,
  withEmptyDirectory,
} from './data-directories.ts';
import { EXIT_CLEAN, EXIT_FAILED, type ExitCode } from './exit-code.ts';
import { printLine, type Streams } from './output.ts';
import { Progress } from './progress.ts';

export interface BackupOptions {
  readonly backupDir: string;
  readonly json?: true;
}

export interface Restoring {
  readonly from: string;
  readonly dataDir: string;
  readonly newMember?: true;
  readonly json?: true;
}

/**
 * Lists the backups. Reports on standard error each directory that is named like a backup but is
 * not a complete one. Throws TypeError.
 */
export async function printBackups(options: BackupOptions, streams: Streams): Promise<ExitCode> {
  const backups = await read(options);
  const { whole, unreadable } = backups;
  if (options.json) await printLine(streams, JSON.stringify(backups));
  else {
    for (const { name, of, member = '-', bytes } of whole) {
      await printLine(streams, `${name}  ${of}  ${member}  ${bytes} bytes`);
    }
    for (const { name, reason } of unreadable) streams.stderr.write(`${name}: ${reason}\n`);
  }
  return EXIT_CLEAN;
}

/** Verifies all backups, or the named one. Returns EXIT_FAILED if one is damaged or cannot be used by
 * this version.
 */
export async function verifyBackups(
  name: string | undefined,
  options: BackupOptions,
  streams: Streams,
): Promise<ExitCode> {
  const { whole, unreadable } = await read(options);
  const all = [...whole, ...unreadable].map((each) => each.name);
  if (name !== undefined && !all.includes(name)) {
    const place = JSON.stringify(options.backupDir);
    throw new TypeError(
      `Cannot verify ${JSON.stringify(name)}: no backup of that name is in ${place}`,
    );
  }
  const results: { name: string; fault: string | null }[] = [];
  for (const each of name === undefined ? all : [name]) {
    const { fault, isOfOtherVersion } = await faultOf(options.backupDir, each, streams);
    results.push({ name: each, fault });
    if (options.json) continue;
    const kind = isOfOtherVersion ? 'of another version' : 'damaged';
    await printLine(streams, fault === null ? `${each}  whole` : `${each}  ${kind}: ${fault}`);
  }
  if (options.json) await printLine(streams, JSON.stringify(results));
  return results.every(({ fault }) => fault === null) ? EXIT_CLEAN : EXIT_FAILED;
}

/** Removes all but the newest backups of each member. */
export async function pruneBackups(
  options: BackupOptions & { readonly keep: string },
  streams: Streams,
): Promise<ExitCode> {
  const count = Number(options.keep);
  if (!/^\d+$/.test(options.keep) || count < 1 || !Number.isSafeInteger(count)) {
    throw new RangeError(
      `Cannot use --keep ${JSON.stringify(options.keep)}: not an integer from 1 up`,
    );
  }
  const { whole } = await read(options);
  const [removed, inUse]: [string[], string[]] = [[], []];
  for (const { name } of backupsBeyond(whole, count)) {
    const isRemoved = await removeBackup(options.backupDir, name);
    (isRemoved ? removed : inUse).push(name);
    if (options.json) continue;
    if (isRemoved) await printLine(streams, `removed ${name}`);
    else streams.stderr.write(`${name}: a process uses it\n`);
  }
  if (options.json) await printLine(streams, JSON.stringify({ removed, inUse }));
  return EXIT_CLEAN;
}

/** Makes a data directory from a backup. */
export async function restoreBackup(
  { from, dataDir, newMember, json }: Restoring,
  streams: Streams,
): Promise<ExitCode> {
  return await reportingDataFaults(streams, async () => {
    const source = openToRead('--from', from);
    checkOutside('--data-dir', dataDir, from, 'the backup to restore');
    await checkNoBackupsIn(from);
    const progress = new Progress(streams, 'restoring');
    const { of, files } = await withEmptyDirectory(dataDir, (target) =>
      restore(source, target, progress.add, newMember === true),
    ).finally(() => progress.end());
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const size = `${counted(files.length, 'file')} of ${counted(bytes, 'byte')}`;
    const summary = `${size}: the data stored at ${of}`;
    await printLine(streams, json ? JSON.stringify({ of, files: files.length, bytes }) : summary);
    return EXIT_CLEAN;
  });
}

/** Throws a TypeError for a directory of backups, of which one must be named. */
async function checkNoBackupsIn(from: string): Promise<void> {
  const newest = (await listBackups(from)).whole.at(-1);
  if (newest === undefined) return;
  const example = JSON.stringify(join(from, newest.name));
  throw new TypeError(
    `Cannot use --from ${JSON.stringify(from)}: it contains backups; name one, such as ${example}`,
  );
}

async function read({ backupDir }: BackupOptions): Promise<StoredBackups> {
  openToRead('--backup-dir', backupDir);
  return await listBackups(backupDir);
}

interface Verified {
  /** Null if there is none. */
  readonly fault: string | null;
  /** Whether only another version can read it. */
  readonly isOfOtherVersion: boolean;
}

async function faultOf(directory: string, name: string, streams: Streams): Promise<Verified> {
  const progress = new Progress(streams, `verifying ${name}`);
  try {
    await verifyBackup(openToRead('--backup-dir', join(directory, name)), progress.add);
    return { fault: null, isOfOtherVersion: false };
  } catch (error) {
    const isOfSystem = error instanceof Error && 'syscall' in error;
    if (!isOfSystem && !(error instanceof GridError)) throw error;
    const isOfOtherVersion = error instanceof GridError && error.code.startsWith('DATA_FORMAT_');
    return { fault: error.message.replace(/^Cannot restore: /, ''), isOfOtherVersion };
  } finally {
    progress.end();
  }
}
