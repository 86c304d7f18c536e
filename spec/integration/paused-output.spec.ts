/**
 * Covers src/telemetry. A member whose standard output is not read still serves and stops: log
 * lines are queued, then dropped.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { programWords } from '../../bench/load/program.ts';
import { freePort } from '../free-port.ts';
import { RawClient, requestBytes } from './client.ts';
import { TEST_MEMORY } from './member-process.ts';

/**
 * Number of requests of each kind. Their lines have more than twice the bytes that may be queued.
 */
const REQUESTS = 2000;
/** A name in the lines. */
const NAME = 'n'.repeat(120);
const AT_ONCE = 500;

const READERS = {
  /** A pipe, which the member reopens. */
  pipe(context: TestContext) {
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-'));
    context.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    context.after(() => closeSync(reader));
    const writer = openSync(path, 'w');
    const bytes = Buffer.alloc(65_536);
    return {
      stdout: writer,
      begun: () => closeSync(writer),
      /** Returns the bytes that the pipe contains now; undefined at its end. */
      read(): string | undefined {
        try {
          const count = readSync(reader, bytes);
          return count === 0 ? undefined : bytes.toString('latin1', 0, count);
        } catch {
          return '';
        }
      },
    };
  },
  /** A socket, which the member cannot reopen. */
  socket() {
    return { stdout: 'pipe' as const, begun() {}, read: undefined };
  },
} as const;

for (const kind of ['pipe', 'socket'] as const) {
  test(`a member whose standard output is a ${kind} with a paused reader serves and stops`, async (context) => {
    const reader = READERS[kind](context);
    const [port, healthPort] = [await freePort(), await freePort()];
    const words = [
      ...['serve', '--port', String(port), '--health-port', String(healthPort)],
      ...['--max-memory', TEST_MEMORY, '--log-level', 'FINE', '--enable-group', 'DATA'],
    ];
    const child = spawn(process.execPath, [...programWords('bin/gridnode'), ...words], {
      stdio: ['ignore', reader.stdout, 'inherit'],
    });
    context.after(() => child.kill('SIGKILL'));
    reader.begun();
    // With this listener, Node keeps unread data when the process ends.
    child.stdout?.on('readable', () => {});
    let text = '';
    const read = async (): Promise<boolean> => {
      if (child.stdout === null) {
        const more = reader.read?.();
        text += more ?? '';
        if (more === '') await setTimeout(5);
        return more !== undefined;
      }
      const more = child.stdout.read() as Buffer | null;
      text += more ?? '';
      if (more === null) await setTimeout(5);
      return !child.stdout.readableEnded;
    };
    while (!text.includes('"listening"')) await read();
    const client = new RawClient(port);
    const wrong = requestBytes('POST', 'management/cluster/state', Buffer.from(`${NAME}&`));
    for (const [request, status] of [
      [wrong, 403],
      [requestBytes('GET', `maps/m/${NAME}`), 204],
    ] as const) {
      for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
        client.send(Buffer.concat(Array(AT_ONCE).fill(request)));
        for (let index = 0; index < AT_ONCE; index++) {
          assert.equal((await client.response())?.status, status);
        }
      }
    }
    const health = new RawClient(healthPort);
    health.send('GET /grid/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    assert.equal((await health.response())?.status, 200);
    health.destroy();
    client.destroy();
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    // The last line may be incomplete: the process waits one second for its reader.
    while (await read());
    const lines = text.split('\n').slice(0, -1);
    for (const line of lines) {
      const { level } = JSON.parse(line) as { level: string };
      assert.ok(['info', 'warn', 'audit', 'debug'].includes(level), line);
    }
    assert.ok(lines.length > 100 && lines.length < 2 * REQUESTS, `${lines.length}`);
  });
}
