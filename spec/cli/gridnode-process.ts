/** The program as a separate process, for behaviour that requires one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { programWords } from '../../bench/load/program.ts';
import { PROCESS_MEMORY } from '../integration/member-process.ts';

export interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Starts the program. `environment`: variables in addition to those of this process. */
export function start(words: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
  const env = { ...process.env, ...environment };
  return spawn(process.execPath, [...programWords('bin/gridnode'), ...words], { env });
}

/** Runs the program until it exits. */
export async function run(
  words: readonly string[],
  environment?: NodeJS.ProcessEnv,
): Promise<Ended> {
  const child = start(words, environment);
  let [output, errors] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output, errors };
}

export interface LogLine {
  readonly msg: string;
  readonly level: string;
  readonly [field: string]: unknown;
}

/** Starts a member and waits until it serves; its log can be read line by line. */
export async function serve(words: readonly string[]) {
  const child = start(['serve', '--max-memory', PROCESS_MEMORY, ...words]);
  const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
  const all = lines[Symbol.asyncIterator]();
  /** Returns the next line with this message; earlier lines are dropped. */
  const next = async (msg: string): Promise<LogLine> => {
    for (;;) {
      const { value, done } = await all.next();
      if (done) throw new Error(`The log ended before "${msg}"`);
      const line = JSON.parse(value) as LogLine;
      if (line.msg === msg) return line;
    }
  };
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'close');
  };
  const port = Number((await next('listening')).port);
  return { child, next, stop, port, base: `http://127.0.0.1:${port}/grid` };
}
