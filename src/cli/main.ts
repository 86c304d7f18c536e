/**
 * The command line: the commands, their flags, and the reporting of errors in them. Invalid flags
 * and an invalid configuration end with exit code 2 before anything is started.
 */
import { Argument, Command, CommanderError, Option } from 'commander';
import { SystemClock } from '../base/clock.ts';
import { VERSION } from '../base/program-version.ts';
import { ConfigFault, linesOf } from '../config/finding.ts';
import { type Assignment, assignmentsOf } from '../config/setting-table.ts';
import { sectionOf } from '../member/describe.ts';
import { type ConfigRequest, refusedFault } from '../member/load.ts';
import { startMember } from '../member/member.ts';
import { SETTING_FLAGS } from '../member/settings.ts';
import { openAudit } from '../telemetry/audit.ts';
import { LineWriter } from '../telemetry/line-writer.ts';
import { createLog, prettyStream } from '../telemetry/log.ts';
import { openStandardOutput } from '../telemetry/standard-output.ts';
import { addClientCommands, type Work } from './client-commands.ts';
import type { Shell } from './completion.ts';
import { addDataCommands } from './data-commands.ts';
import { addExamples } from './examples.ts';
import {
  EXIT_CLEAN,
  EXIT_CLOSED_PIPE,
  EXIT_FAILED,
  EXIT_NOT_PRINTED,
  EXIT_USAGE,
  type ExitCode,
} from './exit-code.ts';
import { HELP_LAYOUT, helpWidth } from './help-layout.ts';
import { OutputError, print, type Streams } from './output.ts';
import { loadShown } from './progress.ts';
import { type StartMember, serve } from './serve.ts';
import { serviceManager } from './service-manager.ts';
import { StopEvents } from './stop-events.ts';
import { areSameTerminal, hasColours } from './terminals.ts';
import { usageHint, withHelp } from './usage-hints.ts';

/** Runs the command of the arguments and returns the exit code. */
export async function runCli(
  words: readonly string[],
  streams: Streams = process,
): Promise<ExitCode> {
  // Errors of standard output are passed to the functions that print. Errors of standard error cannot be
  // reported.
  for (const stream of [streams.stdout, streams.stderr]) stream.on('error', ignored);
  try {
    return await runWords(words, streams);
  } catch (error) {
    if (error instanceof OutputError) return reportOutput(error, words, streams);
    if (!FAULTS.some((kind) => error instanceof kind)) throw error;
    streams.stderr.write(`${(error as Error).message}\n`);
    return EXIT_USAGE;
  } finally {
    for (const stream of [streams.stdout, streams.stderr]) stream.off('error', ignored);
  }
}

async function runWords(words: readonly string[], streams: Streams): Promise<ExitCode> {
  const help: string[] = [];
  try {
    return (await readCommandLine(words, streams, help)?.()) ?? EXIT_CLEAN;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (help.length > 0) await print(streams, help.join(''));
    return error.exitCode === 0 ? EXIT_CLEAN : EXIT_USAGE;
  }
}

function reportOutput(error: OutputError, words: readonly string[], streams: Streams): ExitCode {
  if (error.isClosedPipe) return EXIT_CLOSED_PIPE;
  streams.stderr.write(`${error.message}\n`);
  return OF_OWN_FILES.has(words[0] ?? '') ? EXIT_FAILED : EXIT_NOT_PRINTED;
}

/** The end of the description of a command with the flags of the settings. */
const PRECEDENCE =
  '\n\nFlags override variables of the environment, such as GRID_HOST and GRID_CLUSTER_NAME. ' +
  'Variables override the file of --config.';

/** Commands that end with the exit codes of a member instead of a client. */
const OF_OWN_FILES: ReadonlySet<string> = new Set(['config', 'repair', 'restore']);

function ignored(): void {}

/** Errors of the user. Their messages are printed unchanged. */
const FAULTS = [TypeError, RangeError, ConfigFault];

/**
 * Returns the function that runs the command of the arguments. Throws CommanderError: if help was
 * requested, its text is in `help`, otherwise it has been printed. Throws TypeError or RangeError,
 * whose message has not been printed.
 */
function readCommandLine(
  words: readonly string[],
  streams: Streams,
  help: string[],
): Work | undefined {
  let order: Work | undefined;
  const program = new Command('gridnode')
    .description('An in-memory data store with an HTTP API: maps and queues')
    .version(VERSION, '-v, --version', 'Print the version')
    .helpOption('-h, --help', 'Print this help')
    .helpCommand('help [command]', 'Print the help of a command')
    .showHelpAfterError('(Add --help for help)')
    .exitOverride()
    .configureHelp(HELP_LAYOUT)
    .configureOutput({
      writeOut: (text) => help.push(text),
      writeErr: (text) => streams.stderr.write(text),
      getOutHelpWidth: () => helpWidth(process.env, streams.stdout.columns),
      getErrHelpWidth: () => helpWidth(process.env, streams.stderr.columns),
      outputError: (text, write) => write(text + usageHint(text)),
    });
  const about = 'Serve maps, queues, health and cluster status until a signal stops it';
  const serving = program
    .command('serve')
    .summary(about)
    .description(about + PRECEDENCE);
  const requestToServe = addFlags(serving);
  serving.action(() => {
    const request = requestToServe();
    order = () => runServe(request, streams);
  });
  // Saves the time to build the flags of the other commands at a start.
  if (words[0] !== 'serve') {
    addOthers(program, streams, (work) => {
      order = work;
    });
  }
  addExamples(program);
  program.parse(withHelp(words, program), { from: 'user' });
  return order;
}

/**
 * Adds all commands except `serve`. Passes the selected one to `order`, which runs it once the
 * whole command line is read.
 */
function addOthers(program: Command, streams: Streams, order: (work: Work) => void): void {
  const about = 'Print the effective configuration and the source of each value';
  const showing = program
    .command('config')
    .summary(about)
    .description(about + PRECEDENCE)
    .option('--json', 'Print an object of {path: {value, source}}')
    .option('--example', 'Print a file with every setting as a comment instead');
  const requestToShow = addFlags(showing);
  showing.action((options: { json?: true; example?: true }) => {
    const request = requestToShow();
    order(async () => (await import('./print-config.ts')).printConfig(request, options, streams));
  });
  addDataCommands(program, streams, order);
  program
    .command('hash-password')
    .description('Read a password and print the hash that replaces it in a configuration')
    .action(() => {
      order(async () => (await import('./hash-password.ts')).printPasswordHash(streams));
    });
  addClientCommands(program, streams, order);
  program
    .command('completion')
    .description(
      'Print a script that completes commands and flags, for the start file of the shell',
    )
    .addArgument(new Argument('<shell>', 'The shell').choices(['bash', 'zsh', 'fish']))
    .action((shell: Shell) => {
      order(async () => {
        const { completionScript } = await import('./completion.ts');
        await print(streams, completionScript(shell, program));
        return EXIT_CLEAN;
      });
    });
}

/**
 * Adds the flags of every setting. Returns a function that returns the given ones once the command
 * line is read.
 */
function addFlags(command: Command): () => ConfigRequest {
  const flags: Assignment[] = [];
  command.option(
    '--config <FILE>',
    'Read this configuration, YAML or XML; the default is GRID_CONFIG',
  );
  for (const settingFlag of SETTING_FLAGS) {
    const { row, flag, help } = settingFlag;
    const option = new Option(`${flag.name} <${flag.argument}>`, help);
    option.helpGroup(`${sectionOf(row)}:`);
    // Collected in the order given: `--enable-group all --disable-group DATA` differs from its reverse.
    option.argParser((text) => flags.push(...assignmentsOf(settingFlag, text)));
    command.addOption(option);
  }
  return () => {
    const { config } = command.opts<{ config?: string }>();
    return { file: config, environment: process.env, flags };
  };
}

async function runServe(request: ConfigRequest, streams: Streams): Promise<ExitCode> {
  const { stderr } = streams;
  const { config, findings, piped } = await loadShown(request, streams);
  const fault = refusedFault(findings);
  if (fault !== undefined) throw fault;
  const events = new StopEvents(process);
  const isLogForPeople = process.stdout.isTTY === true;
  const clock = new SystemClock();
  const lines = new LineWriter(openStandardOutput(), clock, (error) => {
    stderr.write(`Cannot write the log to standard output: ${error.message}\n`);
  });
  const log = createLog(
    config.logLevel,
    isLogForPeople ? await prettyStream(lines, hasColours(process.env)) : lines,
  );
  for (const note of linesOf(findings, 'note')) log.info(note);
  for (const warning of linesOf(findings, 'warning')) log.warn(warning);
  const printFatal = (message: string) => {
    if (!areSameTerminal()) stderr.write(`${message}\n`);
  };
  const screen = { isLogForPeople, printFatal };
  const again = piped === undefined ? request : { ...request, file: piped };
  const load = async () => (await import('../member/reading-thread.ts')).loadInThread(again);
  const manager = serviceManager(process.env, clock, (error) => log.warn(error.message));
  const audit = openAudit(lines);
  const start: StartMember = (...parts) => startMember(...parts, audit);
  try {
    return await serve(config, log, start, events, load, screen, manager);
  } finally {
    lines.end();
  }
}
