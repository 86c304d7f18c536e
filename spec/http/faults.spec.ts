/**
 * Covers src/http/connection.ts. Faults of the member while it reads a request: its connection
 * ends, and all others continue.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { client, get, LIVE, post, postHead } from './test-client.ts';

describe('an allocation that fails inside a callback of the parser', () => {
  it('ends only the connection of its request', () => {
    const { socket, server, failures, another } = client();
    const { buffers } = server.inFlight;
    const other = another();
    other.socket.receive(postHead('maps/m/k', 5).slice(0, -10));
    socket.receive(postHead('maps/m/k', 500));
    buffers.acquire = () => {
      throw new RangeError('Array buffer allocation failed');
    };
    socket.receive('half');
    assert(socket.isDestroyed);
    assert.equal(socket.text, '');
    assert.match(String(failures[0]), /allocation failed/);
    Reflect.deleteProperty(buffers, 'acquire');
    other.socket.receive(`${postHead('maps/m/k', 5).slice(-10)}value${get('maps/m/k')}`);
    const third = another();
    third.socket.receive(post('maps/m/other', 'x') + LIVE);
    assert.deepEqual(other.statuses(), [200, 200]);
    assert.equal(other.responses()[1]?.body, 'value');
    assert.deepEqual(third.statuses(), [200, 200]);
    assert.equal(failures.length, 1);
    other.socket.destroy();
    third.socket.destroy();
    assert.equal(server.inFlight.usedBytes, 0);
    assert.equal(server.requests.usedCount, 0);
    assert.equal(server.connectionCount, 0);
  });

  it('also ends only this connection if the head is in two pieces', () => {
    const { socket, server, failures, another } = client();
    const { allocUnsafeSlow } = Buffer;
    Buffer.allocUnsafeSlow = () => {
      throw new RangeError('Array buffer allocation failed');
    };
    try {
      socket.receive('GET /grid/health/live HT');
    } finally {
      Buffer.allocUnsafeSlow = allocUnsafeSlow;
    }
    assert(socket.isDestroyed);
    assert.equal(failures.length, 1);
    const other = another();
    other.socket.receive(LIVE);
    assert.deepEqual(other.statuses(), [200]);
    other.socket.destroy();
    assert.equal(server.requests.usedCount, 0);
  });
});
