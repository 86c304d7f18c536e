/**
 * Covers src/http/tls.ts and src/http/tls-files.ts. TLS and the health listener of the executable
 * as a process.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { tlsClient, tlsFile } from '../tls/identity.ts';
import { RawClient, requestBytes } from './client.ts';
import { memberOn } from './member-on.ts';
import { serve } from './member-process.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'gridnode-'));
after(() => rmSync(FOLDER, { recursive: true }));

async function statusOf(port: number, path: string): Promise<number | undefined> {
  const client = new RawClient(port);
  client.send(`GET /grid/${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const response = await client.response();
  client.destroy();
  return response?.status;
}

describe('a member that cannot serve', () => {
  it('exits with 2 and names the file if a TLS file cannot be used', async () => {
    const flags = ['--tls-certificate', '--tls-key'].map((name) => [name, '/nowhere'] as const);
    const { exit, lines } = memberOn(join(FOLDER, 'data'), flags);
    assert.equal(await exit, 2);
    const { code, msg } = lines.at(-1) ?? {};
    assert.equal(code, 'TLS_FILE_UNUSABLE');
    assert.equal(msg, 'Cannot use "/nowhere" for TLS: no such file');
  });

  it('exits with 3 and names its health port if that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { exit, lines } = memberOn(join(FOLDER, 'data'), [['--health-port', `${port}`]]);
    assert.equal(await exit, 3);
    const { code, msg } = lines.at(-1) ?? {};
    assert.equal(code, 'ADDRESS_IN_USE');
    assert.equal(msg, `Cannot listen on 127.0.0.1:${port}: already in use`);
    server.close();
  });
});

describe('a member that requests certificates, with a health listener', () => {
  let member: Awaited<ReturnType<typeof serve>>;

  before(async () => {
    member = await serve(
      ...['--tls-certificate', tlsFile('server.pem'), '--tls-key', tlsFile('server-key.pem')],
      ...['--tls-client-ca', tlsFile('authority.pem')],
      ...['--health-port', '0', '--connections-max', '3', '--enable-group', 'DATA'],
    );
  });

  after(() => member.child.kill('SIGKILL'));

  it('responds in plain HTTP while every connection of the TLS port is in use', async () => {
    const client = new RawClient(tlsClient(member.port, 'client'));
    assert.equal((await client.request('GET', 'instance')).status, 200);
    const silent = [connect(member.port, '127.0.0.1'), connect(member.port, '127.0.0.1')];
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    const beyond = connect(member.port, '127.0.0.1');
    beyond.on('error', () => {});
    await once(beyond, 'close');
    assert.equal(await statusOf(member.healthPort, 'health/ready'), 200);
    assert.equal(await statusOf(member.healthPort, 'rest/instance'), 404);
    assert.equal((await client.request('GET', 'instance')).status, 200);
    for (const socket of silent) socket.destroy();
    client.destroy();
  });

  it('responds in plain HTTP while the member drains, and closes with it', async () => {
    // The connections of the previous test are closed before this response is received.
    assert.equal(await statusOf(member.healthPort, 'health/ready'), 200);
    const busy = new RawClient(tlsClient(member.port, 'client'));
    const request = requestBytes('POST', 'maps/m/k', Buffer.from('value'));
    busy.send(request.subarray(0, request.length - 1));
    const probe = new RawClient(member.healthPort);
    const idle = new RawClient(tlsClient(member.port, 'client'));
    await idle.request('GET', 'instance');
    member.child.kill('SIGTERM');
    while ((await idle.response()) !== undefined);
    probe.send('GET /grid/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.equal((await probe.response())?.status, 503);
    assert.equal(await statusOf(member.healthPort, 'health/live'), 200);
    busy.send(request.subarray(request.length - 1));
    assert.equal((await busy.response())?.status, 200);
    assert.deepEqual(await member.exited, [0, null]);
  });
});
