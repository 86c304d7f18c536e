/** Runs a member as a separate process and collects its log lines. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { programWords } from '../../bench/load/program.ts';

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

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly code?: string;
  readonly port?: number;
  readonly healthPort?: number;
  readonly signal?: string;
}

/** Starts a member on a free port with additional flags, without waiting for it. */
export function start(...flags: string[]) {
  const serve = ['serve', '--port', '0', '--max-memory', PROCESS_MEMORY];
  const words = [...programWords('bin/gridnode'), ...serve, ...flags];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  const lines: LogLine[] = [];
  let onLine = (): void => {};
  createInterface({ input: child.stdout }).on('line', (text) => {
    lines.push(JSON.parse(text) as LogLine);
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
        if (lines[index] === undefined) throw new Error(`exited with ${code}`);
      });
      await Promise.race([next, ended]);
    }
  };
  return { child, exited, lines, line };
}

/** Starts a member and waits until it serves. */
export async function serve(...flags: string[]) {
  const started = start(...flags);
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
