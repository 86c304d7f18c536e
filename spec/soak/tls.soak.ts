/**
 * SOAK_SIZE connections on the TLS port of a member that takes no more, all silent but one. The next one is
 * closed, the one that talks is served, and the health listener answers. After the time limit of a handshake
 * the silent ones are closed and there is room again.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { RawClient } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { tlsClient, tlsFile } from '../tls/identity.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
/** Silent connections that are opened at once. */
const BATCH = 100;
/** Long enough to open them all, short enough to wait for. */
const HANDSHAKE_SECONDS = 30;
const ROUNDS = 100;

test(`${SIZE} connections on the TLS port, all but one silent`, async (context) => {
  const flags = ['--health-port', '0', '--connections-max', String(SIZE)];
  flags.push('--header-timeout-seconds', String(HANDSHAKE_SECONDS));
  flags.push('--tls-certificate', tlsFile('server.pem'), '--tls-key', tlsFile('server-key.pem'));
  const { child, exited, port, healthPort } = await serve(...flags);
  const talking = new RawClient(tlsClient(port));
  assert.equal((await talking.request('GET', 'instance')).status, 200);

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
  assert.equal(closed, 0, 'the others are not disturbed');

  const started = performance.now();
  for (let round = 0; round < ROUNDS; round++) {
    assert.equal((await talking.request('GET', 'instance')).status, 200);
  }
  const eachMs = (performance.now() - started) / ROUNDS;
  context.diagnostic(`${eachMs.toFixed(2)} ms for a request beside them`);
  const probe = new RawClient(healthPort);
  probe.send('GET /grid/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n');
  assert.equal((await probe.response())?.status, 200);
  probe.destroy();

  await Promise.all(silent.map(isClosed));
  const late = new RawClient(tlsClient(port));
  assert.equal((await late.request('GET', 'instance')).status, 200);
  for (const client of [talking, late]) client.destroy();
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});

async function isClosed(socket: Socket): Promise<void> {
  socket.on('error', () => {});
  if (!socket.closed) await once(socket, 'close');
}
