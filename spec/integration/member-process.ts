/** Runs a member as a separate process and collects its log lines. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { NODE_FLAGS, programWords } from '../../bench/load/program.ts';

const BUILT = join(import.meta.dirname, '../../dist/bin/gridnode.js');
/** Small memory limit: allocating memory at start takes time, and tests need little. */
export const TEST_MEMORY = '8m';
/** Few partitions: each takes memory and time, and the tests need several. */
export const TEST_PARTITIONS = 31;
/** Memory limit of a process: some tests and soaks store larger values there. */
export const PROCESS_MEMORY = '64m';

/**
 * Start of the warning, up to the groups, of a member on loopback whose groups need no credentials.
 */
export const OPEN_TO_PROGRAMS = 'Can be used by any program on this machine without credentials';

/** Start of the warning of a member that serves plain connections through sockets. */
export const ON_SOCKETS = "connections are served through Node's sockets";

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly code?: string;
  readonly port?: number;
  readonly healthPort?: number;
  readonly signal?: string;
}

export interface Launch {
  /** Variables in addition to those of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Words that run the program, such as those of a control group. */
  readonly runner?: readonly string[];
  readonly cwd?: string;
  /** Whether to run the program of `make build`, which needs less memory than one with a loader. */
  readonly isBuilt?: boolean;
}

/** Starts a member on a free port with additional flags, without waiting for it. */
export function start(...flags: string[]) {
  return startWith({}, '--max-memory', PROCESS_MEMORY, ...flags);
}

/** Starts a member on a free port with the defaults and these flags, without waiting for it. */
export function startWith(launch: Launch, ...flags: string[]) {
  const { environment = {}, runner = [], isBuilt = false, cwd } = launch;
  const program = isBuilt ? [...NODE_FLAGS, BUILT] : programWords('bin/gridnode');
  const all = [...runner, process.execPath, ...program, 'serve', '--port', '0', ...flags];
  const [command = '', ...words] = all;
  const env = { ...process.env, ...environment };
  const child = spawn(command, words, { env, cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  const lines: LogLine[] = [];
  // Where the specs themselves run so that members use sockets, the others need not expect this line.
  const isInherited = environment.NODE_PENDING_DEPRECATION === undefined;
  let onLine = (): void => {};
  createInterface({ input: child.stdout }).on('line', (text) => {
    const logged = JSON.parse(text) as LogLine;
    // Lines of the audit log have no message.
    if (isInherited && logged.msg?.startsWith(ON_SOCKETS) === true) return;
    lines.push(logged);
    onLine();
  });
  /** Resolves with the line at this index, once it is logged. */
  const line = async (index: number): Promise<LogLine> => {
    for (;;) {
      const found = lines[index];
      if (found !== undefined) return found;
      const next = new Promise<void>((resolve) => {
        onLine = resolve;
      });
      const ended = exited.then(([code]) => {
        if (lines[index] !== undefined) return;
        throw new Error(`exited with ${code}: ${JSON.stringify(lines)}`);
      });
      await Promise.race([next, ended]);
    }
  };
  return { child, exited, lines, line };
}

/** Starts a member and waits until it serves. */
export function serve(...flags: string[]) {
  return serveWith({}, '--max-memory', PROCESS_MEMORY, ...flags);
}

/** Starts a member as `startWith` does, and waits until it serves. */
export async function serveWith(launch: Launch, ...flags: string[]) {
  const started = startWith(launch, ...flags);
  for (let index = 0; ; index++) {
    const { msg, port = 0, healthPort = 0 } = await started.line(index);
    if (msg === 'listening') return { ...started, port, healthPort };
  }
}

/** Waits until no process accepts connections on the port. */
export async function refusal(port: number): Promise<void> {
  for (;;) {
    const socket = connect({ host: '127.0.0.1', port });
    const error = await once(socket, 'connect').then(
      () => undefined,
      (error) => error,
    );
    socket.destroy();
    if (error?.code === 'ECONNREFUSED') return;
    await setTimeout(10);
  }
}
