/**
 * Covers src/http. Limits over real sockets: a member with short limits, and clients that are slow,
 * flood it or disconnect.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Member } from '../../src/member/member.ts';
import { RawClient, requestBytes } from './client.ts';
import { memberWith } from './member-on.ts';

const LARGE = Buffer.alloc(16_000_000, 'abcdefghij');

let member: Member;

before(async () => {
  member = await memberWith({
    headerTimeoutSeconds: '1',
    bodyProgressTimeoutSeconds: '1',
    writeProgressTimeoutSeconds: '1',
    keepAliveTimeoutSeconds: '2',
    inFlightBytesMax: '20000000',
    maxMemory: '64m',
  });
  const client = new RawClient(member.port);
  assert.equal((await client.request('POST', 'maps/m/large', LARGE)).status, 200);
  client.destroy();
});

after(() => member.drain());

describe('slow clients', { concurrency: true }, () => {
  for (const [what, sent, status] of [
    ['get 408 for a head', Buffer.from('GET /grid/health/live HTTP/1.1\r\n'), 408],
    [
      'get 408 for content',
      requestBytes('POST', 'maps/m/k', Buffer.from('v')).subarray(0, -1),
      408,
    ],
    ['are disconnected for the next request', requestBytes('GET', 'maps/m/none'), 204],
  ] as const) {
    it(`${what} that does not arrive in time`, async () => {
      const client = new RawClient(member.port);
      client.send(sent);
      assert.equal((await client.response())?.status, status);
      assert.equal(await client.response(), undefined);
    });
  }

  it('are disconnected if they read no bytes', async () => {
    const client = new RawClient(member.port);
    client.socket.pause();
    client.send(requestBytes('GET', 'maps/m/large'));
    // Each watcher ends at the limit for its next request, which is longer than that for reading.
    for (let count = 2; count > 1; ) {
      const watcher = new RawClient(member.port);
      count = await connectionsOf(watcher);
      if (count > 1) assert.equal(await watcher.response(), undefined);
      watcher.destroy();
    }
    client.socket.resume();
    await assert.rejects(client.response(), /ended within a response/);
  });
});

describe('a client', () => {
  it('that reads slowly but steadily receives a large value completely', async () => {
    const socket = connect({ host: '127.0.0.1', port: member.port });
    socket.write(requestBytes('GET', 'maps/m/large'));
    let received = 0;
    // The listener is never removed: data that arrives without a listener is lost.
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      socket.pause();
    });
    while (received < LARGE.length) {
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      socket.resume();
    }
    socket.destroy();
  });

  it('that resets the connection during content or a response leaves no memory allocated', async () => {
    const watcher = new RawClient(member.port);
    const upload = requestBytes('POST', 'maps/m/broken', LARGE);
    for (let round = 0; round < 5; round++) {
      const [sender, reader] = [halfOpen(), halfOpen()];
      sender.send(upload.subarray(0, 1_000_000 + round));
      reader.send(requestBytes('GET', 'maps/m/large'));
      await once(reader.socket, 'data');
      for (const { socket } of [sender, reader]) socket.resetAndDestroy();
    }
    while ((await connectionsOf(watcher)) > 1) await nextTurn();
    assert.equal((await watcher.request('GET', 'maps/m/broken')).status, 204);
    // The whole budget is free again: this value needs most of it.
    watcher.send(upload.subarray(0, 1_000_000));
    watcher.send(upload.subarray(1_000_000));
    assert.equal((await watcher.response())?.status, 200);
    watcher.destroy();
  });

  it('that floods with requests and reads nothing delays no other client', async () => {
    const flooders = Array.from({ length: 20 }, () => new RawClient(member.port));
    const flood = Buffer.concat(Array(1000).fill(requestBytes('GET', 'cluster')));
    for (const flooder of flooders) {
      flooder.socket.pause();
      flooder.send(flood);
    }
    const client = new RawClient(member.port);
    for (let request = 0; request < 50; request++) {
      const value = Buffer.from(`${request}`);
      assert.equal((await client.request('POST', 'maps/m/beside', value)).status, 200);
      assert.deepEqual((await client.request('GET', 'maps/m/beside')).body, value);
    }
    for (const each of [...flooders, client]) each.destroy();
  });
});

/**
 * Returns a client that does not end its side when the member does. From Node 22 on, a process does
 * not exit if a socket was reset while its end was waiting to be sent.
 */
function halfOpen(): RawClient {
  return new RawClient(connect({ port: member.port, host: '127.0.0.1', allowHalfOpen: true }));
}

async function connectionsOf(client: RawClient): Promise<number> {
  const { body } = await client.request('GET', 'cluster');
  return (JSON.parse(String(body)) as { connectionCount: number }).connectionCount;
}
