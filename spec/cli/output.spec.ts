/** Every command if standard output cannot be written: closed, full, a closed pipe. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { after, before, test } from 'node:test';
import { programWords } from '../../bench/load/program.ts';
import { runCli } from '../../src/cli/main.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { start } from './gridnode-process.ts';
import { makeBackup } from './made-backup.ts';
import { CLIENT_COMMANDS } from './run-command.ts';

const folder = temporaryFolder();
/** Answers each request with a success that makes every command print something. */
const member = createServer((socket) => {
  socket.resume();
  socket.once('data', () => {
    socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}');
  });
});
let address = '';

before(async () => {
  mkdirSync(join(folder, 'data'));
  makeBackup(join(folder, 'backup-1'), 'ann', '2026-01-01T00:00:00.000Z');
  member.listen(0, '127.0.0.1');
  await once(member, 'listening');
  address = `127.0.0.1:${(member.address() as { port: number }).port}`;
});

after(() => member.close());

const faults: readonly (readonly [code: string, exit: number, ofOwnFiles: number, RegExp])[] = [
  ['ENOSPC', 5, 1, /^Cannot write to standard output: ENOSPC\n$/],
  ['EPIPE', 141, 141, /^$/],
];
for (const [code, ofClient, ofOwnFiles, message] of faults) {
  test(`every command exits with its code if a write fails with ${code}`, async () => {
    const [data, backup] = [join(folder, 'data'), join(folder, 'backup-1')];
    const own = (words: readonly string[]) => [words, ofOwnFiles] as const;
    const commands = [
      ...CLIENT_COMMANDS.map((words) => {
        return [[...words, '--json', '--address', address], ofClient] as const;
      }),
      ...[['--help'], ['--version'], ['map', '--help']].map((words) => [words, ofClient] as const),
      [['hash-password'], ofClient] as const,
      own(['config']),
      own(['config', '--json']),
      own(['config', '--example']),
      own(['repair', '--data-dir', data]),
      own(['restore', '--from', backup, '--data-dir', join(folder, `restored-${code}`)]),
      [['completion', 'bash'], ofClient] as const,
      ...['list', 'verify'].map((word) => {
        return [['backup', word, '--backup-dir', folder], ofClient] as const;
      }),
      [['backup', 'prune', '--backup-dir', folder, '--keep', '9', '--json'], ofClient] as const,
    ];
    for (const [words, exit] of commands) {
      const stderr = new PassThrough();
      const write: Writable['_write'] = (_chunk, _encoding, done) =>
        done(Object.assign(new Error(code), { code }));
      const stdout = new Writable({ write });
      const stdin = Readable.from([Buffer.from('password')]);
      assert.equal(await runCli(words, { stdin, stdout, stderr }), exit, words.join(' '));
      assert.match(String(stderr.read() ?? ''), message, words.join(' '));
    }
  });
}

/** Returns the exit code and standard error of a process with this standard output. */
async function ended(words: readonly string[], stdout: number | 'pipe') {
  const stdio = ['ignore', stdout, 'pipe'] as const;
  const program = programWords('bin/gridnode');
  const child = spawn(process.execPath, [...program, ...words], { stdio: [...stdio] });
  child.stdout?.destroy();
  let errors = '';
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, errors };
}

test('processes with a full or closed standard output end without a stack trace', async () => {
  const full = openSync('/dev/full', 'w');
  const space = 'Cannot write to standard output: ENOSPC: no space left on device, write\n';
  const get = ['map', 'get', 'm', 'k', '--address', address];
  try {
    assert.deepEqual(await ended(get, full), { code: 5, errors: space });
    assert.deepEqual(await ended(['config'], 'pipe'), { code: 141, errors: '' });
  } finally {
    closeSync(full);
  }
  // The shell's >&-: Node replaces a closed descriptor with the null device, which accepts
  // everything.
  const words = [process.execPath, ...programWords('bin/gridnode'), ...get];
  const closed = spawn('sh', ['-c', 'exec "$@" >&-', 'sh', ...words], { stdio: 'ignore' });
  assert.deepEqual(await once(closed, 'close'), [0, null]);
});

test('a member whose log no process reads reports this once, continues, and stops at a signal', async () => {
  const child = start(['serve', '--port', '0', '--log-level', 'FINE']);
  child.stdout?.destroy();
  const [message] = (await once(child.stderr as Readable, 'data')) as [Buffer];
  assert.equal(
    String(message),
    'Cannot write the log to standard output: EPIPE: broken pipe, write\n',
  );
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'close'), [0, null]);
});
