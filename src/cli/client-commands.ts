/**
 * The client commands as the command line has them: `map`, `queue`, `cluster` and `health`. What does
 * them is loaded only when one was typed.
 */
import type { Command } from 'commander';
import type { Client, ClientOptions, ValueOptions } from './client.ts';
import type { Streams } from './client-io.ts';
import { CLUSTER_CALLS } from './cluster-calls.ts';
import type { ExitCode } from './exit-code.ts';

/** Does a command and returns the exit code. */
export type Work = () => Promise<ExitCode>;

/** Adds the commands; one that was typed is handed to `order`, to be done once all was read. */
export function addClientCommands(
  program: Command,
  streams: Streams,
  order: (work: Work) => void,
): void {
  const place = (options: ClientOptions, work: (client: Client) => Promise<ExitCode>) => {
    order(async () => (await import('./client.ts')).runClient(streams, options, work));
  };

  const map = program.command('map').description('Read and write entries of a member’s maps');
  add(map, 'get <map> <key>', 'Print the value; exit code 1 where there is none').action(
    (name: string, key: string, options: ClientOptions) =>
      place(options, (client) => client.getEntry(name, key)),
  );
  addWithValue(map, 'set <map> <key> [value]', 'Set the value').action(
    (name: string, key: string, value: string | undefined, options: ClientOptions & ValueOptions) =>
      place(options, (client) => client.setEntry(name, key, value, options)),
  );
  add(map, 'delete <map> <key>', 'Delete the entry').action(
    (name: string, key: string, options: ClientOptions) =>
      place(options, (client) => client.deleteEntry(name, key)),
  );
  add(map, 'clear <map>', 'Delete all entries').action((name: string, options: ClientOptions) =>
    place(options, (client) => client.clearMap(name)),
  );

  const queue = program.command('queue').description('Offer and poll items of a member’s queues');
  addWithValue(queue, 'offer <queue> [value]', 'Add an item; exit code 1 where it is full').action(
    (name: string, value: string | undefined, options: ClientOptions & ValueOptions) =>
      place(options, (client) => client.offer(name, value, options)),
  );
  add(queue, 'poll <queue>', 'Take an item and print it; exit code 1 where there is none')
    .option('--timeout <seconds>', 'How long to wait for one', '0')
    .action((name: string, options: ClientOptions & { readonly timeout: string }) =>
      place(options, (client) => client.poll(name, options.timeout)),
    );
  add(queue, 'size <queue>', 'Print how many items it has').action(
    (name: string, options: ClientOptions) => place(options, (client) => client.queueSize(name)),
  );

  const cluster = program.command('cluster').description('Ask and administer a member’s cluster');
  for (const call of CLUSTER_CALLS) {
    add(cluster, call.words, call.about).action((...given: unknown[]) => {
      // commander's last two are the options and the command itself.
      const texts = given.slice(0, -2) as string[];
      place(given.at(-2) as ClientOptions, (client) => client.askCluster(call, texts));
    });
  }

  add(program, 'health [part]', 'Print the health, or that part of it; exit code 1 for no').action(
    (part: string | undefined, options: ClientOptions) =>
      place(options, (client) => client.health(part)),
  );
}

function add(parent: Command, words: string, about: string): Command {
  return parent
    .command(words)
    .description(about)
    .option('--address <address>', 'Host and port, or an http or https URL', '127.0.0.1:5701')
    .option('--path-segment <segment>', 'First part of every path', 'grid')
    .option('--user <name>', 'Log in; the password is GRID_PASSWORD, or asked for')
    .option('--cluster-name <name>', 'What authenticates where security is off', 'dev')
    .option('--ca <file>', 'Certificates to trust, PEM')
    .option('--json', 'Print JSON');
}

function addWithValue(parent: Command, words: string, about: string): Command {
  return add(parent, words, about)
    .option('--file <file>', 'Take the value from a file; without it and a value, standard input')
    .option('--content-type <type>', 'Content type to keep with the value');
}
