/** A listener for probes: idle connections neither keep others out, nor stay for long. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readResponses } from './response-reader.ts';
import { client, get, LIVE } from './test-client.ts';
import { createTestServer } from './test-server.ts';

const HALF = LIVE.slice(0, 20);

describe('A listener that closes idle connections', () => {
  it('has room for one more: the one that has been idle longest is closed', async () => {
    const { server, clock } = createTestServer({ connectionsMax: 3 }, { closesIdle: true });
    const { port } = await server.listen('127.0.0.1', 0);
    const opened: Socket[] = [];
    const open = async (request: string): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1');
      opened.push(socket);
      socket.write(request);
      clock.advance(1);
      if (request === LIVE) await once(socket, 'data');
      else await once(socket, 'connect');
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      return socket;
    };
    const [used, half, idle] = [await open(LIVE), await open(HALF), await open('')];
    clock.advance(1);
    used.write(LIVE);
    await once(used, 'data');
    for (const closed of [half, idle, used]) {
      closed.resume();
      const ended = once(closed, 'close');
      await open(LIVE);
      await ended;
      assert.equal(server.connectionCount, 3);
    }
    for (const socket of opened) socket.destroy();
    server.abort();
  });
});

describe('A first request with a time limit of its own', () => {
  const limits = { firstRequestTimeoutSeconds: 5, keepAliveTimeoutSeconds: 75 };

  it('closes a connection without one, at the limit', () => {
    const { socket, clock } = client(createTestServer(limits));
    clock.advance(4999);
    assert(!socket.writableEnded);
    clock.advance(1);
    assert(socket.writableEnded);
    assert.equal(socket.text, '');
  });

  it('includes its head: 408, also if that began late', () => {
    const { socket, clock, statuses } = client(createTestServer(limits));
    clock.advance(4000);
    socket.receive(HALF);
    clock.advance(999);
    assert.deepEqual(statuses(), []);
    clock.advance(1);
    assert.deepEqual(statuses(), [408]);
  });

  it('leaves the next request the usual limit', () => {
    const { socket, clock, statuses } = client(createTestServer(limits));
    clock.advance(4999);
    socket.receive(get('maps/m/k'));
    clock.advance(74_999);
    assert(!socket.writableEnded);
    socket.receive(HALF);
    clock.advance(9999);
    assert.equal(readResponses(socket.text).length, 1);
    clock.advance(1);
    assert.deepEqual(statuses(), [204, 408]);
  });
});
