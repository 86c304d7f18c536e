/**
 * Covers src/http/server.ts and src/http/connection.ts. A listener for probes: idle connections
 * neither block others nor stay open for long.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readResponses } from './response-reader.ts';
import { assertAfter, client, get, LIVE } from './test-client.ts';
import { CARRIERS, createTestServer } from './test-server.ts';

const HALF = LIVE.slice(0, 20);

describe('A listener that closes idle connections', () => {
  for (const { name, parts } of CARRIERS)
    it(`accepts one more by closing the longest idle one, on ${name}`, async () => {
      const { server, clock } = createTestServer(
        { connectionsMax: 3 },
        { closesIdle: true, ...parts },
      );
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
      const used = await open(LIVE);
      const half = await open(HALF);
      const idle = await open('');
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

describe('A separate time limit for the first request', () => {
  const limits = { firstRequestTimeoutSeconds: 5, keepAliveTimeoutSeconds: 75 };

  it('closes a connection that has sent none', () => {
    const { socket, clock } = client(createTestServer(limits));
    assertAfter(5000, clock, () => socket.writableEnded);
    assert.equal(socket.text, '');
  });

  it('includes its head: 408, even if it began late', () => {
    const { socket, clock, statuses } = client(createTestServer(limits));
    clock.advance(4000);
    socket.receive(HALF);
    clock.advance(999);
    assert.deepEqual(statuses(), []);
    clock.advance(1);
    assert.deepEqual(statuses(), [408]);
  });

  it('does not apply to the next request', () => {
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
