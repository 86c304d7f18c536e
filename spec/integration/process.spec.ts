/**
 * Covers bin/gridnode.ts and src/cli/serve.ts. The executable as a process: it serves, drains at a
 * signal under load, and logs both.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RawClient, requestBytes } from './client.ts';
import {
  ON_SOCKETS,
  OPEN_TO_PROGRAMS,
  PROCESS_MEMORY,
  refusal,
  serve,
  serveWith,
} from './member-process.ts';

describe('gridnode serve', () => {
  it('completes every response when it is stopped under load, and exits with 0', async () => {
    const { child, exited, lines, port } = await serve('--enable-group', 'DATA');
    const value = Buffer.alloc(2_000_000, 'v');
    const setter = new RawClient(port);
    assert.equal((await setter.request('POST', 'maps/m/large', value)).status, 200);
    let responses = 0;
    const clients = Array.from({ length: 16 }, async (_, index) => {
      const client = new RawClient(port);
      const path = index % 4 === 0 ? 'maps/m/large' : 'maps/m/absent';
      for (;;) {
        client.send(Buffer.concat(Array(4).fill(requestBytes('GET', path))));
        for (let count = 0; count < 4; count++) {
          const response = await client.response();
          if (response === undefined) return;
          assert.equal(response.body.length, index % 4 === 0 ? value.length : 0);
          if (++responses === 60) child.kill('SIGTERM');
        }
      }
    });
    const waiting = new RawClient(port);
    const polled = waiting.request('DELETE', 'queues/q/60');
    await Promise.all(clients);
    const response = await polled;
    assert.equal(response.status, 204);
    assert.equal(response.fields.get('connection'), 'close');
    setter.destroy();
    const [code] = await exited;
    assert.equal(code, 0);
    assert.deepEqual(
      lines.map(({ msg }) => msg.split(':')[0]),
      [OPEN_TO_PROGRAMS, 'listening', 'draining', 'stopped'],
    );
  });

  it('drains waiting polls, half-sent contents and silent clients, and exits with 0', async () => {
    const { child, exited, port, line } = await serve(
      ...['--enable-group', 'DATA', '--body-progress-timeout-seconds', '1'],
    );
    const connected = async (): Promise<RawClient> => {
      const client = new RawClient(port);
      await client.request('GET', 'instance');
      return client;
    };
    const many = () => Promise.all(Array.from({ length: 10 }, connected));
    const [polling, sending, silent, watcher] = [
      await many(),
      await many(),
      await many(),
      await connected(),
    ];
    const request = requestBytes('POST', 'maps/m/k', Buffer.alloc(100_000, 'v'));
    for (const client of polling) client.send(requestBytes('DELETE', 'queues/q/60'));
    for (const client of sending) client.send(request.subarray(0, 60_000));
    for (const client of silent) client.send(request.subarray(0, 50_000));
    await watcher.request('GET', 'instance');
    child.kill('SIGINT');
    assert.equal((await line(2)).msg, 'draining');
    // While the last connections are being accepted, a response is not always the last of its
    // connection.
    await refusal(port);
    for (const client of sending) client.send(request.subarray(60_000));
    const expected = [
      [polling, 204],
      [sending, 200],
      [silent, 408],
    ] as const;
    for (const [clients, status] of expected) {
      for (const client of clients) {
        const response = await client.response();
        assert.equal(response?.status, status);
        assert.equal(response.fields.get('connection'), 'close');
        assert.equal(await client.response(), undefined);
      }
    }
    assert.deepEqual(await exited, [0, null]);
  });

  it('reports once that sockets serve where the handles of Node are not available', async () => {
    const { child, exited, lines, port, healthPort } = await serveWith(
      { environment: { NODE_PENDING_DEPRECATION: '1' } },
      ...['--max-memory', PROCESS_MEMORY, '--health-port', '0'],
    );
    const statuses: unknown[] = [];
    for (const each of [port, healthPort]) {
      const client = new RawClient(each);
      client.send('GET /grid/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n');
      statuses.push((await client.response())?.status);
    }
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    assert.deepEqual(statuses, [200, 200]);
    assert.deepEqual(
      lines.filter(({ msg }) => msg.startsWith(ON_SOCKETS)).map(({ level, msg }) => [level, msg]),
      [['warn', `${ON_SOCKETS}, which is slower: process.binding would print a deprecation`]],
    );
  });
});
