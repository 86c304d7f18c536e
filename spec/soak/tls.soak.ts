/**
 * SOAK_SIZE connections on the TLS port of a member, which is its limit; all but one are silent. A
 * further connection is closed, the active one is served, and the health listener responds. After
 * the time limit for a handshake, the silent connections are closed and new ones are accepted.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { RawClient } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { tlsClient, tlsFile } from '../tls/identity.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
/** Number of silent connections that are opened at a time. */
const BATCH = 100;
/** Time limit of a handshake, in s: long enough to open all connections. */
const HANDSHAKE_SECONDS = 30;
const ROUNDS = 100;

test(`A client on the TLS port is served besides ${SIZE - 1} silent connections`, async (context) => {
  const flags = ['--health-port', '0', '--connections-max', String(SIZE)];
  flags.push('--header-timeout-seconds', String(HANDSHAKE_SECONDS));
  flags.push('--tls-certificate', tlsFile('server.pem'), '--tls-key', tlsFile('server-key.pem'));
  const { child, exited, port, healthPort } = await serve(...flags);
  const active = new RawClient(tlsClient(port));
  assert.equal((await active.request('GET', 'instance')).status, 200);

  let closed = 0;
  const silent: Socket[] = [];
  while (silent.length < SIZE - 1) {
    const batch = Array.from({ length: Math.min(BATCH, SIZE - 1 - silent.length) }, () => {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      return socket.once('close', () => closed++);
    });
    await Promise.all(batch.map((socket) => once(socket, 'connect')));
    silent.push(...batch);
  }
  await isClosed(connect(port, '127.0.0.1'));
  assert.equal(closed, 0, 'a silent connection was closed early');

  const started = performance.now();
  for (let round = 0; round < ROUNDS; round++) {
    assert.equal((await active.request('GET', 'instance')).status, 200);
  }
  const eachMs = (performance.now() - started) / ROUNDS;
  context.diagnostic(`${eachMs.toFixed(2)} ms per request of the active client`);
  const probe = new RawClient(healthPort);
  probe.send('GET /grid/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n');
  assert.equal((await probe.response())?.status, 200);
  probe.destroy();

  await Promise.all(silent.map(isClosed));
  const late = new RawClient(tlsClient(port));
  assert.equal((await late.request('GET', 'instance')).status, 200);
  for (const client of [active, late]) client.destroy();
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});

async function isClosed(socket: Socket): Promise<void> {
  socket.on('error', () => {});
  if (!socket.closed) await once(socket, 'close');
}
