/** Runs commands in this process. Most behaviour of the command line does not need another one. */
import { PassThrough, Writable } from 'node:stream';
import { CP_CALLS } from '../../src/cli/cp-calls.ts';
import { runCli } from '../../src/cli/main.ts';
import { CLUSTER_CALLS, WAN_CALLS, wordsOf } from '../../src/cli/member-calls.ts';

/** Every client command with its arguments. */
export const CLIENT_COMMANDS: readonly (readonly string[])[] = [
  ...['get', 'delete'].map((word) => ['map', word, 'm', 'k']),
  ['map', 'set', 'm', 'k', 'v'],
  ...['add', 'get', 'delete'].map((word) => ['map', word, 'm', '--key-base64', 'aw==']),
  ['map', 'set', 'm', 'k', 'v', '--ttl', '9'],
  ['map', 'delete', 'm', 'k', '--if-match', '*'],
  ...['clear', 'size', 'keys', 'entries', 'export'].map((word) => ['map', word, 'm']),
  ['map', 'list'],
  ['queue', 'offer', 'q', 'v'],
  ...['poll', 'size'].map((word) => ['queue', word, 'q']),
  ['health'],
  ...CLUSTER_CALLS.map(([row]) => {
    // Standard input instead of a file, which would have to exist.
    const typed = wordsOf(row).replace(/<.*>/, 'x').replace(' [file]', '');
    return ['cluster', ...typed.split(' ')];
  }),
  ...CP_CALLS.map(([row]) => ['cp', ...wordsOf(row).replace(/<.*>/, 'x').split(' ')]),
  ...['heartbeat', 'close-session'].map((word) => ['cp', word, '1']),
  ['cp', 'unlock', 'l', '1'],
  ...WAN_CALLS.map(([row]) => {
    const typed = wordsOf(row).replace(' <replication> [publisher]', ' x y').replace(' [file]', '');
    return ['wan', ...typed.split(' ')];
  }),
];

/** Runs a command with an empty standard input. Returns its exit code and output. */
export async function run(...words: string[]) {
  return await runWith({}, words);
}

/**
 * Runs a command with variables in addition to those of this process. With `typed`, on a terminal
 * on which each prompt gets the next text.
 */
export async function runWith(
  environment: Readonly<Record<string, string>>,
  words: readonly string[],
  typed?: readonly string[],
) {
  const stdin = Object.assign(new PassThrough(), { isTTY: typed !== undefined });
  if (typed === undefined) stdin.end();
  const left = [...(typed ?? [])];
  const stdout = textStream();
  const stderr = textStream((text) => {
    if (left.length > 0 && /: $/.test(text)) setImmediate(() => stdin.write(`${left.shift()}\r`));
  });
  const before = { ...process.env };
  Object.assign(process.env, environment);
  try {
    const streams = { stdin, stdout: stdout.stream, stderr: stderr.stream };
    const code = await runCli(words, streams);
    return { code, output: stdout.text(), errors: stderr.text() };
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

function textStream(onText = (_: string): void => {}) {
  const chunks: Buffer[] = [];
  const text = () => Buffer.concat(chunks).toString();
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      onText(text());
      done();
    },
  });
  return { stream, text };
}
