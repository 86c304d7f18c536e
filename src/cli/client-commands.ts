/**
 * The client commands of the command line: `map`, `queue`, `cluster`, `wan` and `health`. Their code is
 * loaded only when one of them is given.
 */
import { type Command, Option } from 'commander';
import { ROUTES } from '../member/routes.ts';
import type { Route } from '../surface/route.ts';
import type { Client, ClientOptions, ValueOptions } from './client.ts';
import type { KeyOptions } from './command-input.ts';
import type { ExitCode } from './exit-code.ts';
import {
  aboutOf,
  CLUSTER_CALLS,
  HEALTH_PARTS,
  type MemberCall,
  WAN_CALLS,
  wordsOf,
} from './member-calls.ts';
import type { Streams } from './output.ts';
import type { TaskOptions, WaitOptions } from './wan-task-calls.ts';

/** Runs a command and returns the exit code. */
export type Work = () => Promise<ExitCode>;

/**
 * Adds the commands. Passes the selected one to `order`, which runs it once the whole command line is read.
 */
export function addClientCommands(
  program: Command,
  streams: Streams,
  order: (work: Work) => void,
): void {
  const place = (command: Command, work: (client: Client) => Promise<ExitCode>) => {
    const options = command.opts<ClientOptions>();
    const nameOf = (flag: string) => nameOfFlag(command, flag);
    order(async () => (await import('./client.ts')).runClient(streams, options, nameOf, work));
  };

  const map = program.command('map').description('Read and write entries of a member’s maps');
  const onEntry = (row: Route, words: string, about: string) =>
    addWithKey(map, words, about).action((name: string, ...others: unknown[]) => {
      const command = others.at(-1) as Command;
      const words = keyWords(command, others.slice(0, -2));
      place(command, (client) => client.callEntry(row, name, words, command.opts()));
    });
  onEntry(ROUTES.getEntry, 'get <map> [key]', 'Print the value; exit code 1 if there is none');
  addValueFlags(onEntry(ROUTES.setEntry, 'set <map> [key] [value]', 'Set the value'));
  onEntry(ROUTES.deleteEntry, 'delete <map> [key]', 'Delete the entry');
  add(map, 'clear <map>', 'Delete all entries').action(
    (name: string, _: unknown, command: Command) =>
      place(command, (client) => client.clearMap(name)),
  );

  const queue = program.command('queue').description('Offer and poll items of a member’s queues');
  addValueFlags(
    add(queue, 'offer <queue> [value]', 'Add an item; exit code 1 if the queue is full'),
  ).action((name: string, value: string | undefined, options: ValueOptions, command: Command) =>
    place(command, (client) => client.offer(name, value, options)),
  );
  add(queue, 'poll <queue>', 'Take an item and print it; exit code 1 if there is none')
    .option('--timeout <seconds>', 'How long to wait for an item', '0')
    .action((name: string, { timeout }: { readonly timeout: string }, command: Command) =>
      place(command, (client) => client.poll(name, timeout)),
    );
  add(queue, 'size <queue>', 'Print the number of items').action(
    (name: string, _: unknown, command: Command) =>
      place(command, (client) => client.queueSize(name)),
  );

  const addCalls = (parent: Command, calls: readonly MemberCall[]) => {
    for (const call of calls) {
      const [row] = call;
      add(parent, wordsOf(row), aboutOf(row)).action((...parameters: unknown[]) => {
        // commander's last two arguments are the options and the command itself.
        const texts = parameters.slice(0, -2).filter((each) => typeof each === 'string');
        place(parameters.at(-1) as Command, (client) => client.callMember(call, ...texts));
      });
    }
  };
  const cluster = program.command('cluster').description('Query and administer a member’s cluster');
  addCalls(cluster, CLUSTER_CALLS);
  for (const row of [ROUTES.metrics, ROUTES.openApi]) {
    add(cluster, wordsOf(row), aboutOf(row)).action((_: unknown, command: Command) =>
      place(command, (client) => client.printText(row)),
    );
  }
  const wan = program.command('wan').description('Query and control a member’s WAN publishers');
  addCalls(wan, WAN_CALLS);
  addWanTasks(wan, streams, place);

  add(program, 'health', 'Print the health, or one part of it; exit code 1 if it is not healthy')
    .argument('[part]', `One of ${HEALTH_PARTS.join(', ')}`)
    .action((part: string | undefined, _: unknown, command: Command) =>
      place(command, (client) => client.health(part)),
    );
}

/** Adds the commands for tasks that run in the member. */
function addWanTasks(
  wan: Command,
  streams: Streams,
  place: (command: Command, work: (client: Client) => Promise<ExitCode>) => void,
): void {
  addTaskFlags(add(wan, 'sync [map]', 'Send a map, or all maps, to the target of a publisher'))
    .option('--all', 'Send all maps that refer to the replication')
    .action((map: string | undefined, options: SyncOptions, command: Command) =>
      place(command, async (client) => {
        const { sync } = await import('./wan-task-calls.ts');
        return await sync(client, streams, map, options.all === true, options);
      }),
    );
  addTaskFlags(add(wan, 'check <map>', ROUTES.checkMap.summary)).action(
    (map: string, options: TaskOptions, command: Command) =>
      place(command, async (client) => {
        const { begin } = await import('./wan-task-calls.ts');
        return await begin(client, streams, ROUTES.checkMap, map, options);
      }),
  );
  add(wan, 'progress <uuid>', 'Print the progress of a sync or a check')
    .option(...WAIT)
    .action((uuid: string, options: WaitOptions, command: Command) =>
      place(command, async (client) =>
        (await import('./wan-task-calls.ts')).progress(client, streams, uuid, options),
      ),
    );
}

interface SyncOptions extends TaskOptions {
  readonly all?: true;
}

const WAIT = ['--wait', 'Wait for the end; exit code 1 if it failed or maps differ'] as const;

function addTaskFlags(command: Command): Command {
  return command
    .option('--replication <name>', 'The WAN replication; the default is the only one')
    .option('--publisher <id>', 'The publisher; the default is the only one')
    .option(...WAIT);
}

/** Adds a command with the flags of every client command; most have a variable of the environment. */
function add(parent: Command, words: string, about: string): Command {
  const address = new Option('--address <address>', 'Host and port, or an http or https URL');
  return parent
    .command(words)
    .description(about)
    .optionsGroup('Member:')
    .addOption(address.default('127.0.0.1:5701').env('GRID_ADDRESS'))
    .addOption(
      new Option('--path-segment <segment>', 'First part of every path')
        .default('grid')
        .env('GRID_PATH_SEGMENT'),
    )
    .optionsGroup('Login and TLS:')
    .addOption(
      new Option(
        '--user <name>',
        'Log in as this user; the password is GRID_PASSWORD, or prompted for',
      ).env('GRID_USER'),
    )
    .addOption(
      new Option(
        '--cluster-name <name>',
        'Name of the cluster, which authenticates if security is off',
      )
        .default('dev')
        .env('GRID_CLUSTER_NAME'),
    )
    .addOption(new Option('--ca <file>', 'Certificates to trust, PEM').env('GRID_CA'))
    .option('--tls-certificate <file>', 'Certificate of the client, PEM')
    .option('--tls-key <file>', 'Its private key, PEM')
    .optionsGroup('Options:')
    .option('--json', 'Print JSON');
}

/** The name in messages: the flag, or the variable from which the value was read. */
function nameOfFlag(command: Command, key: string): string {
  const option = command.options.find((each) => each.attributeName() === key);
  const isVariable = command.getOptionValueSource(key) === 'env';
  return (isVariable ? option?.envVar : option?.long) ?? key;
}

function addWithKey(parent: Command, words: string, about: string): Command {
  return add(parent, words, about)
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

function addValueFlags(command: Command): Command {
  return command
    .option('--file <file>', 'Read the value from a file; the default is standard input')
    .option('--content-type <type>', 'Content type of the value');
}
