/** `gridnode backup list`, `verify` and `prune`: the backups in a directory, without a member. */
import { join } from 'node:path';
import { GridError } from '../base/errors.ts';
import {
  backupsBeyond,
  listBackups,
  removeBackup,
  type StoredBackups,
} from '../persistence/backup-retention.ts';
import { verifyBackup } from '../persistence/restore.ts';
import { openToRead } from './data-directories.ts';
import { EXIT_CLEAN, EXIT_FAILED, type ExitCode } from './exit-code.ts';
import { printLine, type Streams } from './output.ts';
import { Progress } from './progress.ts';

export interface BackupOptions {
  readonly backupDir: string;
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
 * this version. */
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
