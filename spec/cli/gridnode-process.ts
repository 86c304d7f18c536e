/**
 * The program as a separate process, for behaviour that requires one. member-process.ts starts
 * members.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { programWords } from '../../bench/load/program.ts';

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
