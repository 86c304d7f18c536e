/**
 * The command line: which commands there are, their flags, and what is wrong with what was typed.
 * Wrong flags end with exit code 2 before anything is started.
 */
import { Command, CommanderError, Option } from 'commander';
import { VERSION } from '../base/version.ts';
import { type Assignment, type Config, resolveConfig } from '../config/config.ts';
import { assignmentsOf, SETTING_FLAGS } from '../config/flags.ts';
import { startMember } from '../member.ts';
import { openLog } from '../telemetry/log.ts';
import { EXIT_CLEAN, EXIT_USAGE, type ExitCode } from './exit-code.ts';
import { serve } from './serve.ts';
import { StopEvents } from './stop-events.ts';

/** What the command line asks for; undefined where it was answered already, as help is. */
interface Order {
  readonly config: Config;
}

/** Does what the words after the program's name say; returns the exit code to end with. */
export async function runCli(words: readonly string[]): Promise<ExitCode> {
  let order: Order | undefined;
  try {
    order = readCommandLine(words);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CLEAN : EXIT_USAGE;
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return EXIT_USAGE;
  }
  if (order === undefined) return EXIT_CLEAN;
  const events = new StopEvents(process);
  const log = await openLog(order.config.logLevel);
  return await serve(order.config, log, startMember, events);
}

/** Throws CommanderError, which has been printed, or TypeError or RangeError, which has not. */
function readCommandLine(words: readonly string[]): Order | undefined {
  let order: Order | undefined;
  const assignments: Assignment[] = [];
  const program = new Command('gridnode')
    .description('A data-grid member reached over plain HTTP')
    .version(VERSION)
    .exitOverride();
  const command = program
    .command('serve')
    .description('Serve maps, queues, health and cluster status until a signal stops it')
    .action(() => {
      order = { config: resolveConfig(assignments) };
    });
  for (const settingFlag of SETTING_FLAGS) {
    const { flag, help } = settingFlag;
    const option = new Option(`${flag.name} <${flag.argument}>`, help);
    // Collected in the order given: --enable-group all --disable-group DATA is not the reverse.
    option.argParser((text) => assignments.push(...assignmentsOf(settingFlag, text)));
    command.addOption(option);
  }
  program.parse(words, { from: 'user' });
  return order;
}
