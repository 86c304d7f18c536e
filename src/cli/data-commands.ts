/** The commands about a member's own files: `backup`, `restore` and `repair`. None needs a member. */
import type { Command } from 'commander';
import { SETTINGS } from '../config/settings.ts';
import type { BackupOptions } from './backup.ts';
import type { Work } from './client-commands.ts';
import type { Streams } from './output.ts';
import type { Repairing } from './repair.ts';
import type { Restoring } from './restore.ts';

/** One that was typed is handed to `order`, to be done once all was read. */
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
      .requiredOption('--backup-dir <DIR>', 'The directory that holds the backups')
      .option('--json', 'Print JSON');
  add('list', 'Print name, time, member and size of each backup').action(
    (options: BackupOptions) => {
      order(async () => (await import('./backup.ts')).printBackups(options, streams));
    },
  );
  add(
    'verify [name]',
    'Read all of one or of each, as restore does; exit code 1 for damage',
  ).action((name: string | undefined, options: BackupOptions) => {
    order(async () => (await import('./backup.ts')).verifyBackups(name, options, streams));
  });
  add('prune', 'Remove the old backups of each member; never one that a process uses')
    .requiredOption('--keep <N>', 'How many of each member stay, the newest')
    .action((options: BackupOptions & { readonly keep: string }) => {
      order(async () => (await import('./backup.ts')).pruneBackups(options, streams));
    });
  program
    .command('restore')
    .description('Make a data directory of a backup; nothing may be in it')
    .requiredOption('--from <DIR>', 'The backup')
    .requiredOption('--data-dir <DIR>', 'The data directory; made where it is not there')
    .option('--json', 'Print JSON')
    .action((options: Restoring) => {
      order(async () => (await import('./restore.ts')).restoreBackup(options, streams));
    });
  const partitionCount = String(SETTINGS.partitionCount.fallback);
  program
    .command('repair')
    .description('Tell what is damaged in a data directory, which is left as it is')
    .requiredOption('--data-dir <DIR>', 'The data directory')
    .option('--to <DIR>', 'Save what can be read into this one, which a member then starts on')
    .option('--partition-count <N>', 'Where no file tells', partitionCount)
    .option('--json', 'Print JSON')
    .action((options: Repairing) => {
      order(async () => (await import('./repair.ts')).repairData(options, streams));
    });
}
