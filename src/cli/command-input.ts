/**
 * Reads the input of commands: standard input, files, a password from the terminal.
 * Tested by client-options.spec.ts.
 */
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Streams } from './output.ts';

/** The variable of the password of `--user`; a flag would show it to every user of the machine. */
const PASSWORD_VARIABLE = 'GRID_PASSWORD';

export async function readStandardInput({ stdin }: Streams): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Reads the file, or standard input if none is given. Throws TypeError. */
export async function readText(streams: Streams, file: string | undefined): Promise<Buffer> {
  if (file !== undefined) return await readInput('', file);
  showWaiting(streams, 'text');
  return await readStandardInput(streams);
}

/** Reads the value of a command: its argument, else the file's bytes, else standard input to its end. */
export async function readValue(
  streams: Streams,
  argument: string | undefined,
  file: string | undefined,
): Promise<Buffer> {
  if (argument !== undefined && file !== undefined) {
    throw new TypeError(`Cannot use a value and --file ${JSON.stringify(file)} at once`);
  }
  if (argument !== undefined) return Buffer.from(argument);
  if (file !== undefined) return await readInput('--file', file);
  showWaiting(streams, 'value');
  return await readStandardInput(streams);
}

/** Prints to a terminal that the command waits for input, so that it does not seem to hang. */
function showWaiting({ stdin, stderr }: Streams, what: string): void {
  if (stdin.isTTY) stderr.write(`Waiting for the ${what}; Ctrl-D at the start of a line ends it\n`);
}

/** Throws a TypeError that names the flag, if there is one. */
export async function readInput(flag: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TypeError(`Cannot use ${flag && `${flag} `}${JSON.stringify(file)}: ${reason}`);
  }
}

export function passwordOfEnvironment(): string | undefined {
  return process.env[PASSWORD_VARIABLE];
}

/**
 * Reads the password from the environment, or from the terminal without echo. Throws TypeError if there
 * is neither.
 */
export async function readPassword(streams: Streams, prompt: string): Promise<string> {
  const password = passwordOfEnvironment();
  if (password !== undefined) return password;
  if (!streams.stdin.isTTY) {
    throw new TypeError(
      `Cannot ask for a password: no terminal, and ${PASSWORD_VARIABLE} is not set`,
    );
  }
  return await promptHidden(streams, prompt);
}

/** Prompts on the terminal; the input is not shown. */
export async function promptHidden(streams: Streams, prompt: string): Promise<string> {
  const { stdin, stderr } = streams;
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Raw mode is on before the prompt is printed, so that early input is not shown.
  const lines = createInterface({ input: stdin, output: unseen, terminal: true });
  stderr.write(prompt);
  try {
    return await new Promise((resolve, reject) => {
      lines.once('line', resolve);
      lines.once('close', () => reject(new TypeError('Cannot read the password: none was typed')));
    });
  } finally {
    lines.close();
    stderr.write('\n');
  }
}
