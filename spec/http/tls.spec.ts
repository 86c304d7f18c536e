/**
 * Connections over TLS: handshakes and their limits, certificates, and the behaviour of plain
 * connections.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HttpLimits } from '../../src/http/limits.ts';
import type { TlsIdentity } from '../../src/http/tls.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { identity, isSecured, tlsClient } from '../tls/identity.ts';
import { createTestServer } from './test-server.ts';

const MEBIBYTE = 1048576;
const open: { destroy(): void }[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) each.destroy();
});

/** A server with TLS on its own port. */
async function serve(limits: Partial<HttpLimits> = {}, tls: TlsIdentity = identity('server')) {
  const parts = createTestServer({ bodyBytesMax: 16 * MEBIBYTE, ...limits }, { tls });
  const { port } = await parts.server.listen('127.0.0.1', 0);
  open.push({
    destroy() {
      parts.server.drain();
      parts.server.abort();
    },
  });
  return { ...parts, port };
}

function client(port: number, ...more: [name?: 'client' | 'impostor', options?: object]) {
  const socket = tlsClient(port, ...more);
  const raw = new RawClient(socket);
  open.push(raw);
  return { raw, socket };
}

function plainClient(port: number): Socket {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => socket.destroy());
  socket.resume();
  open.push(socket);
  return socket;
}

/** Lets turns end until the condition is true. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await nextTurn();
}

describe('a connection over TLS', () => {
  it('is idle once its last response has been accepted', async () => {
    const { port, clock, server } = await serve({ keepAliveTimeoutSeconds: 2 });
    const { raw } = client(port);
    for (let request = 0; request < 3; request++) {
      assert.equal((await raw.request('GET', 'instance')).status, 200);
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      clock.advance(1999);
    }
    assert.equal(server.connectionCount, 1);
    clock.advance(1);
    assert.equal(await raw.response(), undefined);
  });
});

describe('a handshake', () => {
  it('succeeds with TLS 1.2 and 1.3, and not with older versions', async () => {
    const { port } = await serve();
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const versions = { minVersion: version, maxVersion: version };
      const { raw, socket } = client(port, undefined, versions);
      assert.equal((await raw.request('GET', 'instance')).status, 200);
      assert.equal(socket.getProtocol(), version);
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    assert.equal(await isSecured(client(port, undefined, old).socket), false);
  });

  it('agrees on HTTP/1.1 if the client offers it, and fails if it offers only HTTP/2', async () => {
    const { port } = await serve();
    const both = client(port, undefined, { ALPNProtocols: ['h2', 'http/1.1'] });
    assert(await isSecured(both.socket));
    assert.equal(both.socket.alpnProtocol, 'http/1.1');
    const other = client(port, undefined, { ALPNProtocols: ['h2'] });
    assert.equal(await isSecured(other.socket), false);
  });

  it('is cut off after the time limit of a head, however many bytes are received', async () => {
    const { server, port, clock } = await serve();
    const silent = plainClient(port);
    const slow = plainClient(port);
    await until(() => server.connectionCount === 2);
    slow.write('\x16\x03\x01');
    clock.advance(9_990);
    slow.write('\x02');
    await nextTurn();
    assert.equal(server.connectionCount, 2);
    const closed = Promise.all([once(silent, 'close'), once(slow, 'close')]);
    clock.advance(20);
    await closed;
    await until(() => server.connectionCount === 0);
  });

  it('has no time limit once it is completed', async () => {
    const { server, port, clock } = await serve();
    const { raw } = client(port);
    await raw.request('GET', 'instance');
    clock.advance(20_000);
    assert.equal((await raw.request('GET', 'instance')).status, 200);
    assert.equal(server.connectionCount, 1);
  });

  it('counts as a connection: one beyond the limit is closed, the others continue', async () => {
    const { server, port } = await serve({ connectionsMax: 3 });
    const { raw } = client(port);
    await raw.request('GET', 'instance');
    const silent = [plainClient(port), plainClient(port)];
    await until(() => server.connectionCount === 3);
    await once(plainClient(port), 'close');
    assert.equal((await raw.request('GET', 'instance')).status, 200);
    assert.equal(server.connectionCount, 3);
    silent[0]?.destroy();
    await until(() => server.connectionCount === 2);
    assert.equal((await client(port).raw.request('GET', 'instance')).status, 200);
  });

  it('with plain text, noise or nothing only ends its own connection', async () => {
    const { server, port, failures } = await serve();
    for (const text of ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', '\x16\x03\x01\x00\x05\x00\xff', '']) {
      const socket = plainClient(port);
      socket.end(text, 'latin1');
      await once(socket, 'close');
    }
    const reset = plainClient(port);
    await until(() => server.connectionCount === 1);
    reset.resetAndDestroy();
    await until(() => server.connectionCount === 0);
    assert.equal((await client(port).raw.request('GET', 'instance')).status, 200);
    assert.deepEqual(failures, []);
  });

  it('in progress is cut off when the server has drained for a second', async () => {
    const { server, port, clock } = await serve();
    const silent = plainClient(port);
    await until(() => server.connectionCount === 1);
    const closed = once(silent, 'close');
    const drained = server.drain();
    clock.settle();
    clock.advance(999);
    assert.equal(server.connectionCount, 1);
    clock.advance(1);
    await drained;
    await closed;
  });

  it('that ends while the server drains is served once, with the end announced', async () => {
    const { server, port, clock } = await serve();
    const { raw } = client(port);
    const answering = raw.request('GET', 'instance');
    await until(() => server.connectionCount === 1);
    const drained = server.drain();
    let isDrained = false;
    void drained.then(() => {
      isDrained = true;
    });
    while (!isDrained) {
      clock.settle();
      await nextTurn();
    }
    const answer = await answering;
    assert.deepEqual([answer.status, answer.fields.get('connection')], [200, 'close']);
  });
});

describe('certificates', () => {
  it('of clients are required if an authority is configured, and must be issued by it', async () => {
    const { server, port } = await serve({}, identity('server', 'authority'));
    const { raw } = client(port, 'client');
    assert.equal((await raw.request('GET', 'instance')).status, 200);
    for (const name of [undefined, 'impostor'] as const) {
      for (const version of ['TLSv1.2', 'TLSv1.3']) {
        const refused = client(port, name, { minVersion: version, maxVersion: version });
        refused.raw.send(requestBytes('POST', 'maps/m/k'));
        assert.equal(await refused.raw.response(), undefined, `${name} ${version}`);
      }
    }
    await until(() => server.connectionCount === 1);
    assert.equal((await raw.request('GET', 'maps/m/k')).status, 204);
  });

  it('that cannot be used are refused, and the previous ones remain in use', async () => {
    const { server, port } = await serve();
    assert.throws(() =>
      server.setTlsIdentity({ ...identity('server-2'), key: Buffer.from('none') }),
    );
    const { raw, socket } = client(port);
    assert.equal((await raw.request('GET', 'instance')).status, 200);
    assert.equal(socket.getPeerCertificate().subject.CN, 'gridnode test server');
  });
});

describe('a connection over TLS', () => {
  it('stores a value of many reads and returns it to a slow reader', async () => {
    const { port } = await serve();
    const { raw, socket } = client(port);
    const value = Buffer.alloc(4 * MEBIBYTE, 'abcdefghijk');
    assert.equal((await raw.request('POST', 'maps/m/k', value)).status, 200);
    socket.pause();
    for (let get = 0; get < 3; get++) raw.send(requestBytes('GET', 'maps/m/k'));
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    socket.resume();
    for (let get = 0; get < 3; get++) assert((await raw.response())?.body.equals(value));
  });

  it('answers pipelined requests in order', async () => {
    const { port, clock } = await serve();
    const { raw } = client(port);
    const values = Array.from({ length: 500 }, (_, index) => Buffer.from(String(index)));
    raw.send(
      Buffer.concat(
        values.flatMap((value) => [
          requestBytes('POST', 'maps/m/k', value),
          requestBytes('GET', 'maps/m/k'),
        ]),
      ),
    );
    let isDone = false;
    const endTurns = async () => {
      for (; !isDone; await nextTurn()) clock.settle();
    };
    const turns = endTurns();
    for (const value of values) {
      assert.equal((await raw.response())?.status, 200);
      assert.deepEqual((await raw.response())?.body, value);
    }
    isDone = true;
    await turns;
  });

  it('may end its side: its requests are answered, a poll takes nothing', async () => {
    const { port } = await serve();
    const { raw, socket } = client(port, undefined, { allowHalfOpen: true });
    raw.send(requestBytes('POST', 'queues/q', Buffer.from('item')));
    raw.send(requestBytes('DELETE', 'queues/empty/60'));
    raw.send(requestBytes('DELETE', 'queues/q/60'));
    socket.end(requestBytes('GET', 'queues/q/size'));
    const statuses = [];
    for (let answer = 0; answer < 3; answer++) statuses.push((await raw.response())?.status);
    assert.deepEqual(statuses, [200, 204, 204]);
    assert.equal(String((await raw.response())?.body), '1');
    assert.equal(await raw.response(), undefined);
  });

  it('gets a refusal if it ends within a request', async () => {
    const { port } = await serve();
    const { raw, socket } = client(port, undefined, { allowHalfOpen: true });
    const request = requestBytes('POST', 'maps/m/k', Buffer.from('value'));
    socket.end(request.subarray(0, request.length - 1));
    assert.equal((await raw.response())?.status, 400);
    assert.equal(await raw.response(), undefined);
  });

  it('is drained: waiting requests are answered, and it ends', async () => {
    const { server, port, clock } = await serve();
    const { raw } = client(port);
    await raw.request('GET', 'instance');
    raw.send(requestBytes('DELETE', 'queues/q/60'));
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    const drained = server.drain();
    clock.settle();
    const answer = await raw.response();
    assert.equal(answer?.status, 204);
    assert.equal(answer?.fields.get('connection'), 'close');
    assert.equal(await raw.response(), undefined);
    await drained;
  });
});
