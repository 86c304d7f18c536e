/**
 * Notifies the service manager of the state of this process if NOTIFY_SOCKET is set, as by systemd with
 * `Type=notify`. Node does not support such sockets, so the program `systemd-notify` sends the messages;
 * the unit needs `NotifyAccess=all`. A shell starts that program for each message. The shell itself is
 * started once, before there is data: to start a process, a process with much memory copies the table of
 * its pages, which takes 60 ms for each GiB and blocks the event loop (measured with 8 GiB).
 *
 * With `WatchdogSec=`, messages report that the event loop runs. systemd restarts the service if they do
 * not arrive.
 */
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../base/clock.ts';

/** The states of systemd: the member serves; its event loop runs; it stops. */
type ServiceState = 'READY=1' | 'WATCHDOG=1' | 'STOPPING=1';

/** The service manager as a member sees it. Failures do not stop the member. */
export interface ServiceManager {
  /** Reports that the member serves, and from then on that its event loop runs. */
  serving(): void;
  /** Reports that the member stops. Resolves when the message was sent. */
  stopping(): Promise<void>;
}

/** The environment of the process. */
type Environment = Readonly<Record<string, string | undefined>>;

const PROGRAM = 'systemd-notify';

/** Runs the program `$0` with each line of standard input, and confirms each with an empty line. */
const SCRIPT = 'while read -r state; do "$0" "$state" || exit; echo; done';

/** Messages for each period that systemd allows between two, so that one of them may fail. */
const MESSAGES_PER_PERIOD = 3;

/** The service manager of a process that has none. */
export const NO_MANAGER: ServiceManager = { serving: () => {}, stopping: () => Promise.resolve() };

/**
 * Returns the service manager that the environment sets; without NOTIFY_SOCKET, one that does nothing.
 * `onError` receives each failure.
 */
export function serviceManager(
  environment: Environment,
  clock: Clock,
  onError: (error: Error) => void,
  program = PROGRAM,
): ServiceManager {
  if (!environment.NOTIFY_SOCKET) return NO_MANAGER;
  const messages = new Messages(environment, program, onError);
  const intervalMs = keepAliveMs(environment);
  let timer: Timer | undefined;
  const keepAlive = (): void => {
    timer = clock.after(intervalMs, () => {
      void messages.send('WATCHDOG=1');
      keepAlive();
    });
  };
  return {
    serving() {
      void messages.send('READY=1');
      if (intervalMs > 0) keepAlive();
    },
    stopping() {
      timer?.cancel();
      return messages.send('STOPPING=1');
    },
  };
}

/**
 * Returns the interval between two reports that the event loop runs, in ms; 0 if systemd expects none
 * of this process.
 */
function keepAliveMs({ WATCHDOG_USEC, WATCHDOG_PID }: Environment): number {
  if (WATCHDOG_PID !== undefined && WATCHDOG_PID !== String(process.pid)) return 0;
  const periodMs = Number(WATCHDOG_USEC ?? 0) / 1000;
  return periodMs > 0 ? Math.floor(periodMs / MESSAGES_PER_PERIOD) : 0;
}

/** The shell that sends messages, one at a time and in order. It is started anew if it has ended. */
class Messages {
  readonly #environment: Environment;
  readonly #program: string;
  readonly #onError: (error: Error) => void;
  /** Undefined after a failure: the next message starts another one. */
  #shell: Promise<ChildProcess | undefined>;
  #last: Promise<void> = Promise.resolve();

  constructor(environment: Environment, program: string, onError: (error: Error) => void) {
    this.#environment = environment;
    this.#program = program;
    this.#onError = onError;
    this.#shell = startShell(program, environment).catch(() => undefined);
  }

  /** Resolves when the message was sent or has failed. */
  send(state: ServiceState): Promise<void> {
    this.#last = this.#last.then(() => this.#sendNow(state)).catch(this.#onError);
    return this.#last;
  }

  async #sendNow(state: ServiceState): Promise<void> {
    let shell = await this.#shell;
    if (shell === undefined || shell.exitCode !== null || shell.signalCode !== null) {
      shell = await startShell(this.#program, this.#environment);
      this.#shell = Promise.resolve(shell);
    }
    await confirmed(shell, state);
  }
}

/** Starts the shell, and loads Node's module for that only here. It does not keep this process alive. */
async function startShell(program: string, environment: Environment): Promise<ChildProcess> {
  const { spawn } = await import('node:child_process');
  const shell = spawn('/bin/sh', ['-c', SCRIPT, program], { env: environment });
  // `close` follows both errors, and ends the message.
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  for (const pipe of shell.stdio) (pipe as Socket).unref();
  return shell;
}

/** Sends a state through the shell. Resolves when the shell confirms it; rejects if it ends instead. */
function confirmed(shell: ChildProcess, state: ServiceState): Promise<void> {
  return new Promise((resolve, reject) => {
    let reason = '';
    const onReason = (part: Buffer | Error): void => {
      reason += part instanceof Error ? part.message : part;
    };
    const finish = (isSent: boolean): void => {
      shell.stdout?.off('data', onConfirmed);
      shell.stderr?.off('data', onReason);
      shell.off('error', onReason).off('close', onClose);
      if (isSent) resolve();
      else reject(new Error(`Cannot notify systemd of ${state}: ${reason.trim()}`));
    };
    const onConfirmed = (): void => finish(true);
    const onClose = (): void => finish(false);
    shell.stdout?.on('data', onConfirmed);
    shell.stderr?.on('data', onReason);
    shell.on('error', onReason).on('close', onClose);
    shell.stdin?.write(`${state}\n`);
  });
}
