/**
 * Covers src/base/open-files.ts and src/servers/descriptors.ts. Members whose process may open only
 * a few files.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { RawClient } from './client.ts';
import { type LogLine, serveWith, TEST_MEMORY } from './member-process.ts';

/** Number of connections to the publisher's only endpoint. */
const CONNECTIONS_OF_PUBLISHER = 4;

/** Starts a member with a limit of open files. Resolves once it serves. */
async function serveWithin(context: TestContext, limit: number, ...flags: string[]) {
  const runner = ['sh', '-c', `ulimit -n ${limit}; exec "$@"`, 'sh'];
  const environment = { GRIDNODE_SLABS: 'small' };
  const started = await serveWith({ runner, environment }, ...flags);
  const { child, port, healthPort } = started;
  context.after(() => child.kill('SIGKILL'));
  // An audit line has no message.
  const lines = started.lines as readonly (Partial<LogLine> & { readonly count?: number })[];
  const lowered = lines.find(({ msg = '' }) => msg.includes('connections-max is'))?.msg ?? '';
  const [, connectionsMax] = /connections-max is (\d+) instead of 10000/.exec(lowered) ?? [];
  return { child, lines, port, healthPort, connectionsMax: Number(connectionsMax) };
}

test('every connection gets a response if few files may be open, and the log counts those refused', async (context) => {
  const flags = ['--health-port', '0', '--max-memory', TEST_MEMORY];
  const { child, lines, port, healthPort, connectionsMax } = await serveWithin(
    context,
    64,
    ...flags,
  );
  assert.ok(connectionsMax > 0 && connectionsMax < 40, JSON.stringify(lines));
  const open = async (): Promise<[RawClient, number | undefined]> => {
    const client = new RawClient(port);
    client.send('GET /grid/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    return [client, (await client.response())?.status];
  };
  const clients: RawClient[] = [];
  for (let index = 0; index < connectionsMax; index++) {
    const [client, status] = await open();
    assert.equal(status, 200, `${index}`);
    clients.push(client);
  }
  const refused = await Promise.all(Array.from({ length: 100 }, open));
  assert.deepEqual(
    refused.map(([, status]) => status),
    Array(refused.length).fill(503),
  );
  const health = new RawClient(healthPort);
  health.send('GET /grid/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  assert.equal((await health.response())?.status, 200);
  for (const client of [health, ...clients, ...refused.map(([client]) => client)]) client.destroy();
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'close'), [0, null]);
  const counts = lines.filter(({ msg }) => msg === 'connections refused').map(({ count }) => count);
  assert.equal(counts[0], 1);
  assert.equal(
    counts.reduce((sum = 0, count = 0) => sum + count, 0),
    refused.length,
  );
});

test('idle connections leave enough files for the log', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'gridnode-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const flags = ['--data-dir', folder, '--enable-group', 'DATA', '--max-memory', TEST_MEMORY];
  const { child, port } = await serveWithin(context, 90, ...flags);
  const client = new RawClient(port);
  const value = Buffer.alloc(1_000_000, 'v');
  assert.equal((await client.request('POST', 'maps/m/k', value)).status, 200);
  const idle = Array.from({ length: 65 }, () => new RawClient(port));
  await Promise.all(idle.map(({ socket }) => once(socket, 'connect')));
  // More than one log segment has.
  for (let count = 0; count < 8; count++) {
    assert.equal((await client.request('POST', 'maps/m/k', value)).status, 200, `${count}`);
  }
  for (const each of [client, ...idle]) each.destroy();
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'close'), [0, null]);
});

test('added publishers use the files of connections until they are removed', async (context) => {
  const flags = ['--enable-group', 'WAN', '--enable-group', 'CLUSTER_WRITE'];
  const { lines, port, connectionsMax } = await serveWithin(context, 80, ...flags);
  const publisher = { publisherId: 'p', clusterName: 'dev', targetEndpoints: '127.0.0.1:1' };
  const json = JSON.stringify({ name: 'n', batchPublishers: [publisher] });
  const client = new RawClient(port);
  const call = async (name: string, rest: string) =>
    (await client.request('POST', `wan/${name}`, Buffer.from(`dev&&${rest}`))).status;
  const opened = async () => {
    const clients: RawClient[] = [client];
    for (;;) {
      const next = new RawClient(port);
      clients.push(next);
      next.send('GET /grid/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
      if ((await next.response())?.status === 503) break;
    }
    for (const each of clients.slice(1)) each.destroy();
    return clients.length - 1;
  };
  assert.equal(await call('addWanConfig', encodeURIComponent(json)), 200);
  assert.equal(await opened(), connectionsMax - CONNECTIONS_OF_PUBLISHER);
  const warnings = lines.filter(({ msg = '' }) => msg.includes('connections-max is'));
  assert.ok(warnings[1]?.msg?.includes(` is ${connectionsMax - CONNECTIONS_OF_PUBLISHER} instead`));
  assert.equal(await call('removeWanConfig', 'n&p'), 200);
  assert.equal(await opened(), connectionsMax);
  client.destroy();
});
