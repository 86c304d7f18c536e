/**
 * The command that `gridnode cp lock` runs. Signals that would end this process are sent to the
 * command instead; this process ends after it. If the session is lost, the command gets SIGTERM, and
 * SIGKILL when the session's time is over.
 *
 * On a terminal, the command shares the process group, so that it may read and gets SIGINT from the
 * terminal. Otherwise it has a group of its own, and signals reach all its processes.
 * Tested by cp-commands.spec.ts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import type { KeptSession } from '../cp/kept-session.ts';
import { EXIT_ABSENT, type ExitCode } from './exit-code.ts';
import type { Streams } from './output.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

// As shells report them.
/** The command has been found, but cannot be run. */
const EXIT_NOT_RUN = 126;
const EXIT_NOT_FOUND = 127;

/** The signals that would end this process. */
export class StopSignals {
  readonly #source: EventEmitter;
  readonly #controller = new AbortController();
  readonly #onSignal = (name: NodeJS.Signals): void => {
    this.first ??= name;
    this.#controller.abort();
    this.pass?.(name);
  };
  /** The first signal. */
  first: NodeJS.Signals | undefined;
  /** Called with each signal. */
  pass: ((name: NodeJS.Signals) => void) | undefined;

  /** `source`: the process. */
  constructor(source: EventEmitter) {
    this.#source = source;
    for (const name of SIGNALS) source.on(name, this.#onSignal);
  }

  /** Aborts with the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  close(): void {
    for (const name of SIGNALS) this.#source.off(name, this.#onSignal);
  }
}

/** Returns the exit code of a process that a signal has ended, as shells report it. */
export function exitCodeOf(signal: NodeJS.Signals): ExitCode {
  return 128 + constants.signals[signal];
}

/** Runs the command, and returns its exit code. */
export async function runLocked(
  streams: Streams,
  [name = '', ...words]: readonly string[],
  fence: number,
  session: KeptSession,
  signals: StopSignals,
): Promise<ExitCode> {
  const isOnTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  const child = spawn(name, words, {
    stdio: 'inherit',
    detached: !isOnTerminal,
    env: { ...process.env, GRID_FENCE: String(fence) },
  });
  const ended = endOf(child);
  signals.pass = (signal) => {
    // A terminal sends SIGINT to the command as well.
    if (!isOnTerminal || signal !== 'SIGINT') kill(child, signal, !isOnTerminal);
  };
  let killing: NodeJS.Timeout | undefined;
  const onLost = () => {
    streams.stderr.write(`Lost CP session ${session.id}: ending ${JSON.stringify(name)}\n`);
    kill(child, 'SIGTERM', !isOnTerminal);
    killing = setTimeout(() => kill(child, 'SIGKILL', !isOnTerminal), session.graceMs);
  };
  session.lost.addEventListener('abort', onLost);
  const end = await ended;
  signals.pass = undefined;
  session.lost.removeEventListener('abort', onLost);
  clearTimeout(killing);
  if (end instanceof Error) {
    streams.stderr.write(`Cannot run ${JSON.stringify(name)}: ${end.message}\n`);
    return (end as NodeJS.ErrnoException).code === 'ENOENT' ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
  }
  if (!session.lost.aborted) return end;
  // Processes that it has left.
  if (!isOnTerminal) kill(child, 'SIGKILL', true);
  return end === 0 ? EXIT_ABSENT : end;
}

/** Resolves with the exit code, or with the reason why the command cannot be run. */
function endOf(child: ChildProcess): Promise<ExitCode | Error> {
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => {
      resolve(signal === null ? (code ?? EXIT_ABSENT) : exitCodeOf(signal));
    });
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(error);
    });
  });
}

function kill({ pid }: ChildProcess, signal: NodeJS.Signals, isGroup: boolean): void {
  if (pid === undefined) return;
  try {
    process.kill(isGroup ? -pid : pid, signal);
  } catch {
    // It has ended.
  }
}
