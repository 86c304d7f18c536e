/** The flags that several client commands have. Tested by client-options.spec.ts. */
import { type Command, Option } from 'commander';
import type { Client } from './client.ts';
import type { ExitCode } from './exit-code.ts';

/** Passes a command's work to be run, with a client of the command's flags. */
export type Place = (command: Command, work: (client: Client) => Promise<ExitCode>) => void;

/** Adds a command with the flags of every client command; most have a variable of the environment. */
export function addCommand(parent: Command, words: string, about: string): Command {
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
export function nameOfFlag(command: Command, key: string): string {
  const option = command.options.find((each) => each.attributeName() === key);
  const isVariable = command.getOptionValueSource(key) === 'env';
  return (isVariable ? option?.envVar : option?.long) ?? key;
}

export function addValueFlags(command: Command): Command {
  return command
    .option('--file <file>', 'Read the value from a file; the default is standard input')
    .option('--content-type <type>', 'Content type of the value');
}
