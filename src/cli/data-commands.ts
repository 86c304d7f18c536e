/**
 * The commands for files of a member: `backup`, `restore` and `repair`. None needs a running
 * member. Tested by odd-directories.spec.ts.
 */
import type { Command } from 'commander';
import { SETTINGS } from '../member/settings.ts';
import type { BackupOptions, Restoring } from './backup-commands.ts';
import type { Work } from './client-commands.ts';
import type { Streams } from './output.ts';
import type { Repairing } from './repair-data.ts';

/** Passes the selected command to `order`, which runs it once the whole command line is read. */
export function addDataCommands(
  program: Command,
  streams: Streams,
  order: (work: Work) => void,
): void {
  const backup = program.command('backup').description('List, verify and remove backups');
  const add = (words: string, about: string) =>
    backup
      .command(words)
      .description(about)
      .requiredOption('--backup-dir <DIR>', 'Directory of the backups')
      .option('--json', 'Print JSON');
  add('list', 'Print name, time, member and size of each backup').action(
    (options: BackupOptions) => {
      order(async () => (await import('./backup-commands.ts')).printBackups(options, streams));
    },
  );
  add('verify [name]', 'Read one backup, or all, as restore does; exit code 1 for damage').action(
    (name: string | undefined, options: BackupOptions) => {
      order(async () =>
        (await import('./backup-commands.ts')).verifyBackups(name, options, streams),
      );
    },
  );
  add('prune', 'Remove the old backups of each member; never one that a process uses')
    .requiredOption('--keep <N>', 'Number of newest backups to retain of each member')
    .action((options: BackupOptions & { readonly keep: string }) => {
      order(async () => (await import('./backup-commands.ts')).pruneBackups(options, streams));
    });
  program
    .command('restore')
    .description('Create a data directory from a backup; the directory must be empty')
    .requiredOption('--from <DIR>', 'The backup')
    .requiredOption('--data-dir <DIR>', 'The data directory; created if it does not exist')
    .option('--new-member', 'Give the copy a new uuid, to run it beside the original member')
    .option('--json', 'Print JSON')
    .action((options: Restoring) => {
      order(async () => (await import('./backup-commands.ts')).restoreBackup(options, streams));
    });
  const partitionCount = String(SETTINGS.partitionCount.fallback);
  program
    .command('repair')
    .description('List the damage in a data directory, which is not changed')
    .requiredOption('--data-dir <DIR>', 'The data directory')
    .option(
      '--to <DIR>',
      'Save the readable data into this directory, with which a member can start',
    )
    .option('--partition-count <N>', 'Number of partitions, if no file contains it', partitionCount)
    .option('--json', 'Print JSON')
    .action((options: Repairing) => {
      order(async () => (await import('./repair-data.ts')).repairData(options, streams));
    });
}
