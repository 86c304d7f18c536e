/**
 * A member on a terminal that accepts no output, as after Ctrl-S or if the terminal emulator hangs.
 * The terminal belongs to `script`, whose output is a pipe that is not read.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const PROGRAM = join(import.meta.dirname, '../../dist/bin/gridnode.js');
const REQUESTS = 2000;
/** Prevents the member from opening the terminal again, as without /proc or after `su`. */
const CANNOT_OPEN = `
  const fs = require('node:fs');
  const { openSync } = fs;
  fs.openSync = (path, ...rest) => {
    if (path === '/proc/self/fd/1') throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    return openSync(path, ...rest);
  };
`;

for (const [kind, preload] of [
  ['accepts no output', ''],
  ['accepts no output and cannot be opened', CANNOT_OPEN],
] as const) {
  test(`a member whose terminal ${kind} serves and stops`, async (context) => {
    const file = join(temporaryFolder(), 'preload.cjs');
    writeFileSync(file, preload);
    const [port, healthPort] = [await freePort(), await freePort()];
    const flags = `--port ${port} --health-port ${healthPort} --max-memory 64m --log-level FINE`;
    const command = `exec ${PROGRAM} serve ${flags}`;
    const terminal = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, SHELL: '/bin/sh', NODE_OPTIONS: `--require ${file}` },
    });
    context.after(() => terminal.kill('SIGKILL'));
    terminal.stdout.setEncoding('utf8');
    let text = '';
    terminal.stdout.on('readable', () => {});
    while (!text.includes('http://')) {
      text += terminal.stdout.read() ?? '';
      await setTimeout(5);
    }
    const [pid = 0] = readFileSync(`/proc/${terminal.pid}/task/${terminal.pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number);
    const client = new RawClient(port);
    const wrong = requestBytes('POST', 'management/cluster/state', Buffer.from('wrong&'));
    for (let count = 0; count < REQUESTS; count++) {
      client.send(wrong);
      assert.equal((await client.response())?.status, 403);
    }
    const health = new RawClient(healthPort);
    health.send('GET /grid/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    assert.equal((await health.response())?.status, 200);
    health.destroy();
    client.destroy();
    process.kill(pid, 'SIGTERM');
    while (isAlive(pid)) await setTimeout(10);
    terminal.stdout.removeAllListeners('readable').on('data', (more: string) => {
      text += more;
    });
    await once(terminal, 'close');
    // Lines formatted for a terminal begin with the time.
    assert.match(text, /^.*\[\d\d:\d\d:\d\d\.\d{3}\] .*answered/m);
  });
}

/** Whether the process is running; a zombie has ended. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
