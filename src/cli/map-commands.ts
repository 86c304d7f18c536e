/** The client commands of `gridnode map`. */
import type { Command } from 'commander';
import { ROUTES } from '../member/routes.ts';
import type { Client, ConditionOptions, SetOptions } from './client.ts';
import { addCommand, addValueFlags, type Place } from './client-flags.ts';
import type { KeyOptions } from './command-input.ts';
import type { ExitCode } from './exit-code.ts';
import type { ExportOptions } from './map-export.ts';
import type { ImportOptions } from './map-import.ts';
import type { ListOptions } from './map-lists.ts';
import type { Streams } from './output.ts';

/** Adds the commands; `place`: runs the selected one. */
export function addMapCommands(map: Command, streams: Streams, place: Place): void {
  map.description('Read and write entries of a member’s maps');
  addEntryCommands(map, place);
  const ofMap = (
    words: string,
    about: string,
    work: (client: Client, name: string) => Promise<ExitCode>,
  ) =>
    addCommand(map, words, about).action((name: string, _: unknown, command: Command) =>
      place(command, (client) => work(client, name)),
    );
  ofMap('clear <map>', 'Delete all entries', (client, name) => client.clearMap(name));
  ofMap('size <map>', 'Print the number of entries', (client, name) =>
    client.printSize(ROUTES.mapSize, name),
  );
  addListCommands(map, streams, place);
  addLineCommands(map, streams, place);
  addTransferCommands(map, streams, place);
}

function addEntryCommands(map: Command, place: Place): void {
  const onEntry = <Options>(
    words: string,
    about: string,
    work: (
      client: Client,
      name: string,
      words: readonly string[],
      options: Options & KeyOptions,
    ) => Promise<ExitCode>,
  ) =>
    addWithKey(map, words, about).action((name: string, ...others: unknown[]) => {
      const command = others.at(-1) as Command;
      const words = keyWords(command, others.slice(0, -2));
      place(command, (client) => work(client, name, words, command.opts()));
    });
  onEntry('get <map> [key]', 'Print the value; exit code 1 if there is none', (client, ...rest) =>
    client.getEntry(...rest),
  );
  const set = onEntry<SetOptions>('set <map> [key] [value]', 'Set the value', (client, ...rest) =>
    client.setEntry(...rest),
  );
  addValueFlags(set)
    .option('--ttl <seconds>', 'Time to live; the default is the map’s, 0 means no limit')
    .option('--max-idle <seconds>', 'Time without a read or write; default and 0 as above')
    .option('--if-match <tags>', MATCH)
    .option('--if-none-match <tags>', 'Set it only if it has none of these; * for a new entry');
  onEntry<ConditionOptions>('delete <map> [key]', 'Delete the entry', (client, ...rest) =>
    client.deleteEntry(...rest),
  ).option('--if-match <tags>', MATCH);
  onEntry<{ readonly by: string }>(
    'add <map> [key]',
    'Add to a number and print the sum; exit code 1 for another value',
    (client, ...rest) => client.addToEntry(...rest),
  ).option('--by <number>', 'The number to add, of 64 bits', '1');
}

const MATCH = 'Only if the entry has one of these entity tags; exit code 1 if not';

function addListCommands(map: Command, streams: Streams, place: Place): void {
  const lists = [
    ['list', 'list', 'List the maps that have entries, with their sizes'],
    ['keys', 'keys <map>', 'List the keys of a map'],
    ['entries', 'entries <map>', 'List the entries of a map, as lines of JSON'],
  ] as const;
  for (const [word, words, about] of lists) {
    addCommand(map, words, about)
      .option('--prefix <text>', 'Only those that begin with this text')
      .option('--limit <number>', 'Print at most this many')
      .option(
        '--cursor <cursor>',
        'Continue a list from its cursor, which --json prints at the end',
      )
      .action((...parameters: unknown[]) => {
        // commander's last two arguments are the options and the command itself.
        const command = parameters.at(-1) as Command;
        const name = parameters.length > 2 ? String(parameters[0]) : undefined;
        place(command, async (client) => {
          const { printList } = await import('./map-lists.ts');
          return await printList(client, streams, word, name, command.opts<ListOptions>());
        });
      });
  }
}

function addLineCommands(map: Command, streams: Streams, place: Place): void {
  addCommand(
    map,
    'lookup <map> [keys...]',
    'Print the entries of keys; exit code 1 if one is missing',
  )
    .option('--file <file>', 'Read lines with keys from a file; the default is standard input')
    .action((name: string, keys: string[], { file }: { file?: string }, command: Command) =>
      place(command, async (client) => {
        const { lookUp } = await import('./map-lines.ts');
        return await lookUp(client, streams, name, keys, file);
      }),
    );
  addCommand(
    map,
    'bulk <map> [file]',
    'Make the changes in the lines of a file or standard input',
  ).action((name: string, file: string | undefined, _: unknown, command: Command) =>
    place(command, async (client) => {
      const { runBulk } = await import('./map-lines.ts');
      return await runBulk(client, streams, name, file);
    }),
  );
}

function addTransferCommands(map: Command, streams: Streams, place: Place): void {
  addCommand(map, 'export <map> [file]', 'Write all entries to a new file or standard output')
    .option('--prefix <text>', 'Only those whose keys begin with this text')
    .option('--continue', 'Continue an export that was cut off')
    .action((name: string, file: string | undefined, options: ExportOptions, command: Command) =>
      place(command, async (client) => {
        const { exportMap } = await import('./map-export.ts');
        return await exportMap(client, streams, name, file, options);
      }),
    );
  addCommand(
    map,
    'import <map> [file]',
    'Set the entries of an export, from a file or standard input',
  )
    .option('--skip <lines>', 'Continue an import that was cut off, after this many lines', '0')
    .action((name: string, file: string | undefined, options: ImportOptions, command: Command) =>
      place(command, async (client) => {
        const { importMap } = await import('./map-import.ts');
        return await importMap(client, streams, name, file, options);
      }),
    );
}

function addWithKey(parent: Command, words: string, about: string): Command {
  return addCommand(parent, words, about)
    .option('--key-base64 <text>', 'Use these bytes as the key')
    .option('--key-file <file>', 'Use the bytes of a file as the key');
}

/** The arguments after the name of the map. One is required if no flag sets the key. */
function keyWords(command: Command, words: readonly unknown[]): readonly string[] {
  const { keyBase64, keyFile } = command.opts<KeyOptions>();
  const parameters = words.filter((word) => typeof word === 'string');
  if (parameters.length === 0 && keyBase64 === undefined && keyFile === undefined) {
    command.error("error: missing required argument 'key'");
  }
  return parameters;
}
