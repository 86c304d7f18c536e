/**
 * Covers src/http/connection.ts and src/http/request.ts. The bytes that a waiting request
 * retains, and how its connection ends or continues meanwhile.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { client, get, guardedServer, LIVE, poll, post, postHead } from './test-client.ts';
import { createTestServer } from './test-server.ts';

function pollWith(content: string, queue = 'q'): string {
  const length = `Content-Length: ${content.length}`;
  return `DELETE /grid/rest/queues/${queue}/2147483647 HTTP/1.1\r\nHost: x\r\n${length}\r\n\r\n${content}`;
}

describe('A waiting poll', () => {
  it('releases its content, both buffer and reservation, so that others have room', () => {
    const server = createTestServer({ bodyBytesMax: 1000, inFlightBytesMax: 2000 });
    const content = 'v'.repeat(1000);
    for (let count = 0; count < 16; count++) {
      const { socket } = client(server);
      socket.receive(pollWith(content).slice(0, -1));
      socket.receive(content.slice(-1));
      assert(!socket.isDestroyed);
      assert.equal(server.server.inFlight.usedBytes, 0);
    }
    const writer = client(server);
    writer.socket.receive(postHead('maps/m/k', 1000));
    writer.socket.receive(content);
    assert.deepEqual(writer.statuses(), [200]);
  });

  it('is not ended to make room, and gets its item', () => {
    const server = createTestServer({ bodyBytesMax: 1000, inFlightBytesMax: 1000 });
    const { socket, responses, clock } = client(server);
    socket.receive(pollWith('ab').slice(0, -1));
    socket.receive('b');
    clock.advance(6000);
    const holder = client(server);
    const refused = client(server);
    holder.socket.receive(`${postHead('maps/m/k', 1000)}x`);
    refused.socket.receive(`${postHead('maps/m/k', 1000)}x`);
    assert.equal(refused.responses()[0]?.status, 503);
    client(server).socket.receive(post('queues/q', 'item'));
    clock.settle();
    assert.equal(responses()[0]?.body, 'item');
  });

  for (const [how, end] of [
    ['too much input follows it', 'backlog'],
    ['the server cuts it off', 'destroy'],
    ['its socket fails', 'error'],
  ] as const) {
    it(`takes no item once its connection ends because ${how}`, () => {
      const server = createTestServer({ bodyBytesMax: 65536 });
      const { socket, connection, another, clock } = client(server);
      // The carrier reports in a later turn that it is closed.
      socket.closesLate = true;
      socket.receive(poll('q'));
      if (end === 'backlog') socket.receive(Buffer.alloc(65537, 'x'));
      else if (end === 'error') socket.fail();
      else connection.destroy();
      assert(socket.isDestroyed);
      const other = another();
      other.socket.receive(post('queues/q', 'item'));
      clock.settle();
      other.socket.receive(get('queues/q/size'));
      assert.equal(other.responses()[1]?.body, '1');
      assert.equal(socket.text, '');
      assert.equal(server.server.connectionCount, 2);
      socket.close();
      assert.equal(server.server.connectionCount, 1, 'only the other one');
    });
  }
});

describe('After an administrative call under way', () => {
  for (const [name, request, count] of [
    ['two POSTs of 64 KiB', post('maps/m/k', 'v'.repeat(65536)), 2],
    ['1,500 GETs', get('maps/m/absent'), 1500],
  ] as const) {
    it(`${name} stay in the socket, and are answered in order`, async () => {
      const { server, letIn, call } = guardedServer({ bodyBytesMax: 65536 });
      const { socket, statuses, clock } = client(server);
      socket.receive(call + request.repeat(count) + LIVE);
      assert(socket.isPaused && !socket.isDestroyed);
      assert.deepEqual(statuses(), []);
      await letIn();
      for (let turn = 0; turn < 100; turn++) {
        clock.settle();
        await nextTurn();
      }
      const last = name === '1,500 GETs' ? 204 : 200;
      assert.deepEqual(statuses(), [200, ...Array(count).fill(last), 200]);
      assert(!socket.isPaused);
    });
  }

  it('more input may be read than a poll allows, which is checked if a poll follows', async () => {
    for (const [count, isCut] of [
      [10, false],
      [11, true],
    ] as const) {
      const { server, letIn, call } = guardedServer({ pipelineMax: 10 });
      const { socket } = client(server);
      socket.receive(call + poll('q') + LIVE.repeat(count));
      assert(socket.isPaused);
      await letIn();
      assert.equal(socket.isDestroyed, isCut, `${count} requests`);
      if (!isCut) assert(!socket.isPaused, 'the socket of a poll is paused');
    }
  });

  it('its work is done even if its connection was ended by its client or by the server', async () => {
    for (const end of ['close', 'destroy'] as const) {
      const { server, letIn } = guardedServer();
      server.groups.set(true, new Map([['CLUSTER_WRITE', true]]));
      const { socket, connection } = client(server);
      socket.receive(post('management/cluster/changeState', 'dev&&frozen'));
      if (end === 'close') socket.destroy();
      else connection.destroy();
      await letIn();
      assert.equal(server.audited.at(-1)?.status, 200);
      assert.equal(socket.text, '');
    }
  });

  it('its content stays reserved until it is answered', async () => {
    const { server, letIn, call } = guardedServer();
    const { socket } = client(server);
    socket.receive(call.slice(0, -1));
    socket.receive(call.slice(-1));
    assert.equal(server.server.inFlight.usedBytes, 4);
    await letIn();
    assert.equal(server.server.inFlight.usedBytes, 0);
  });
});
