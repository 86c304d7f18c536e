/**
 * Reads the input of commands: standard input, files, keys, a password from the terminal.
 * Tested by client-options.spec.ts.
 */
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { reasonOf } from '../base/errors.ts';
import type { Streams } from './output.ts';

/** The variable of the password of `--user`; a flag would show it to every user of the machine. */
const PASSWORD_VARIABLE = 'GRID_PASSWORD';

/** Size of the parts in which a file of lines is read, in bytes. */
const INPUT_CHUNK_BYTES = 262_144;

const REPLACEMENT = '\u{fffd}';

export interface KeyOptions {
  readonly keyBase64?: string;
  readonly keyFile?: string;
}

export async function readStandardInput({ stdin }: Streams): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Returns the bytes of the file as they are read, or those of standard input. Throws TypeError. */
export async function openInput(
  streams: Streams,
  file: string | undefined,
): Promise<AsyncIterable<Buffer>> {
  if (file === undefined) {
    showWaiting(streams, 'lines');
    return streams.stdin;
  }
  try {
    return chunksOf(file, await open(file));
  } catch (error) {
    throw fileFault('', file, error);
  }
}

async function* chunksOf(file: string, handle: FileHandle): AsyncGenerator<Buffer> {
  try {
    yield* handle.createReadStream({ highWaterMark: INPUT_CHUNK_BYTES });
  } catch (error) {
    throw fileFault('', file, error);
  }
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
    throw fileFault(flag, file, error);
  }
}

/** Returns the error for a file that cannot be used. `flag`: the one that names it, or ''. */
export function fileFault(flag: string, file: string, error: unknown): TypeError {
  const seen = `${flag && `${flag} `}${JSON.stringify(file)}`;
  const { code = '' } = error as NodeJS.ErrnoException;
  return new TypeError(`Cannot use ${seen}: ${FILE_FAULTS[code] ?? reasonOf(error)}`);
}

/** Reasons why a file cannot be read, by the system's code. */
const FILE_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'not permitted',
  EISDIR: 'a directory, not a file',
};

/**
 * Reads the key from the arguments after the name of a map, or from a flag, which can have any bytes. Node
 * decodes arguments as UTF-8 and replaces invalid bytes by U+FFFD. An argument with that character would
 * name another key, so it is refused. Returns the bytes of the key, and the arguments after it. Throws
 * TypeError or RangeError.
 */
export async function readKey(
  words: readonly string[],
  { keyBase64, keyFile }: KeyOptions,
): Promise<{ readonly key: Buffer; readonly rest: readonly string[] }> {
  if (keyBase64 !== undefined && keyFile !== undefined) {
    throw new TypeError('Cannot use --key-base64 and --key-file at once');
  }
  const [word, ...rest] = words;
  const isFlag = keyBase64 !== undefined || keyFile !== undefined;
  if (!isFlag) refuseReplaced('key', word);
  const key = isFlag ? await readKeyFlag(keyBase64, keyFile) : Buffer.from(word ?? '');
  if (key.length === 0) throw new RangeError('Cannot use "" as a key: it is empty');
  return { key, rest: isFlag ? words : rest };
}

/** Throws TypeError if bytes of the argument were replaced. `what`: a key, a value or a name. */
export function refuseReplaced(what: string, text: string | undefined): void {
  if (!text?.includes(REPLACEMENT)) return;
  const seen = `Cannot use ${JSON.stringify(text)} as a ${what}`;
  throw new TypeError(`${seen}: U+FFFD stands for bytes that are not UTF-8${INSTEAD[what] ?? ''}`);
}

const INSTEAD: Readonly<Record<string, string>> = {
  key: '; --key-base64 and --key-file accept any bytes',
  value: '; --file and standard input accept any bytes',
};

async function readKeyFlag(base64: string | undefined, file: string | undefined): Promise<Buffer> {
  if (file !== undefined) return await readInput('--key-file', file);
  const text = (base64 ?? '').replace(/=+$/, '');
  if (!/^[A-Za-z0-9+/_-]*$/.test(text) || text.length % 4 === 1) {
    throw new TypeError(`Cannot use --key-base64 ${JSON.stringify(base64)}: not Base64`);
  }
  return Buffer.from(text, 'base64');
}

export function passwordOfEnvironment(): string | undefined {
  return process.env[PASSWORD_VARIABLE];
}

/**
 * Reads the password from the environment, or from the terminal without echo. Throws TypeError if there
 * is neither.
 */
export async function readPassword(
  streams: Streams,
  prompt: string,
  variable = PASSWORD_VARIABLE,
): Promise<string> {
  const password = process.env[variable];
  if (password !== undefined) return password;
  if (!streams.stdin.isTTY) {
    throw new TypeError(`Cannot ask for a password: no terminal, and ${variable} is not set`);
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
