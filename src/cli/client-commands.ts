/**
 * The client commands of the command line: `map`, `queue`, `cluster`, `wan`, `cp`, `migrate` and
 * `health`. Their code is loaded only when one of them is given.
 */
import type { Command } from 'commander';
import { ROUTES } from '../member/routes.ts';
import type { ClientOptions, ValueOptions } from './client.ts';
import { addCommand, addValueFlags, nameOfFlag, type Place } from './client-flags.ts';
import { CP_CALLS } from './cp-calls.ts';
import { addLockCommands } from './cp-commands.ts';
import type { ExitCode } from './exit-code.ts';
import { addMapCommands } from './map-commands.ts';
import {
  aboutOf,
  CLUSTER_CALLS,
  HEALTH_PARTS,
  type MemberCall,
  WAN_CALLS,
  wordsOf,
} from './member-calls.ts';
import type { MigrateOptions } from './migrate.ts';
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
  const place: Place = (command, work) => {
    const options = command.opts<ClientOptions>();
    const nameOf = (flag: string) => nameOfFlag(command, flag);
    order(async () => (await import('./client.ts')).runClient(streams, options, nameOf, work));
  };

  addMapCommands(program.command('map'), streams, place);

  const queue = program.command('queue').description('Offer and poll items of a member’s queues');
  addValueFlags(
    addCommand(queue, 'offer <queue> [value]', 'Add an item; exit code 1 if the queue is full'),
  ).action((name: string, value: string | undefined, options: ValueOptions, command: Command) =>
    place(command, (client) => client.offer(name, value, options)),
  );
  addCommand(queue, 'poll <queue>', 'Take an item and print it; exit code 1 if there is none')
    .option('--timeout <seconds>', 'How long to wait for an item', '0')
    .action((name: string, { timeout }: { readonly timeout: string }, command: Command) =>
      place(command, (client) => client.poll(name, timeout)),
    );
  addCommand(queue, 'size <queue>', 'Print the number of items').action(
    (name: string, _: unknown, command: Command) =>
      place(command, (client) => client.printSize(ROUTES.queueSize, name)),
  );

  const addCalls = (parent: Command, calls: readonly MemberCall[]) => {
    for (const call of calls) {
      const [row] = call;
      addCommand(parent, wordsOf(row), aboutOf(row)).action((...parameters: unknown[]) => {
        // commander's last two arguments are the options and the command itself.
        const texts = parameters.slice(0, -2).filter((each) => typeof each === 'string');
        place(parameters.at(-1) as Command, (client) => client.callMember(call, ...texts));
      });
    }
  };
  const cluster = program.command('cluster').description('Query and administer a member’s cluster');
  addCalls(cluster, CLUSTER_CALLS);
  for (const row of [ROUTES.metrics, ROUTES.openApi]) {
    addCommand(cluster, wordsOf(row), aboutOf(row)).action((_: unknown, command: Command) =>
      place(command, (client) => client.printText(row)),
    );
  }
  const wan = program.command('wan').description('Query and control a member’s WAN publishers');
  addCalls(wan, WAN_CALLS);
  addWanTasks(wan, streams, place);
  const cp = program.command('cp').description('Locks, and the CP subsystem that has them');
  addCalls(cp, CP_CALLS);
  addLockCommands(cp, streams, place);

  addMigration(program, streams, place);

  addCommand(
    program,
    'health',
    'Print the health, or one part of it; exit code 1 if it is not healthy',
  )
    .argument('[part]', `One of ${HEALTH_PARTS.join(', ')}`)
    .action((part: string | undefined, _: unknown, command: Command) =>
      place(command, (client) => client.health(part)),
    );
}

function addMigration(program: Command, streams: Streams, place: Place): void {
  const names = (name: string, all: readonly string[] = []) => [...all, name];
  addCommand(program, 'migrate', 'Copy maps and queues of a running Hazelcast member of version 5')
    .option('--map <name>', 'A map to copy, repeatable; the default are all maps and queues', names)
    .option('--queue <name>', 'A queue to copy, repeatable; the default is as above', names)
    .option('--dry-run', 'Read everything, report it, and write nothing')
    .option('--state <file>', 'File from which a migration that broke off continues', STATE)
    .option(
      '--queue-items-max <number>',
      'Refuse longer queues, as each is read at once',
      '1000000',
    )
    .optionsGroup('Original:')
    .requiredOption('--from <address>', 'Host and port of a member, as its clients use it')
    .option('--cluster <name>', 'Name of its cluster', 'dev')
    .option(
      '--from-user <name>',
      'Log in as this user; the password is GRID_FROM_PASSWORD, or prompted for',
    )
    .option('--from-ca <file>', 'Use TLS and trust these certificates, PEM')
    .option('--from-tls-certificate <file>', 'Certificate of the client, PEM')
    .option('--from-tls-key <file>', 'Its private key, PEM')
    .action((options: MigrateOptions, command: Command) =>
      place(command, async (client) =>
        (await import('./migrate.ts')).migrate(client, streams, options),
      ),
    );
}

const STATE = 'gridnode-migration.json';

/** Adds the commands for tasks that run in the member. */
function addWanTasks(wan: Command, streams: Streams, place: Place): void {
  addTaskFlags(
    addCommand(wan, 'sync [map]', 'Send a map, or all maps, to the target of a publisher'),
  )
    .option('--all', 'Send all maps that refer to the replication')
    .action((map: string | undefined, options: SyncOptions, command: Command) =>
      place(command, async (client) => {
        const { sync } = await import('./wan-task-calls.ts');
        return await sync(client, streams, map, options.all === true, options);
      }),
    );
  addTaskFlags(addCommand(wan, 'check <map>', ROUTES.checkMap.summary)).action(
    (map: string, options: TaskOptions, command: Command) =>
      place(command, async (client) => {
        const { begin } = await import('./wan-task-calls.ts');
        return await begin(client, streams, ROUTES.checkMap, map, options);
      }),
  );
  addCommand(wan, 'progress <uuid>', 'Print the progress of a sync or a check')
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
