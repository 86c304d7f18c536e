import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RefusedConnections } from '../../src/http/refused-connections.ts';
import { UNMETERED } from '../../src/http/traffic-meter.ts';
import { FakeClock } from '../fake-clock.ts';
import { FakeCarrier } from './fake-carrier.ts';
import { assertAfter } from './test-client.ts';

/** A socket that was accepted, and is not read yet. */
function accepted(): FakeCarrier {
  const socket = new FakeCarrier();
  socket.pause();
  return socket;
}

describe('RefusedConnections', () => {
  function turnAway(count: number) {
    const clock = new FakeClock();
    const refused = new RefusedConnections(clock, UNMETERED);
    const sockets = Array.from({ length: count }, accepted);
    const add = (socket: FakeCarrier): void => refused.add(socket, 1, 'Date: now\r\n');
    sockets.forEach(add);
    return { clock, sockets, add };
  }

  it('get 503 with the reason, are read for two seconds and closed', () => {
    const { clock, sockets } = turnAway(1);
    const [socket] = sockets as [FakeCarrier];
    assert.match(socket.text, /^HTTP\/1.1 503 .*\r\nDate: now\r\n/);
    assert.match(
      socket.text,
      /\r\n\r\n{"status":"fail","message":"Cannot accept another connection: 1 are open"}$/,
    );
    assert(socket.writableEnded && !socket.isPaused);
    assertAfter(2000, clock, () => socket.isDestroyed);
  });

  it('are read up to 128 at a time; others are answered and closed immediately', () => {
    const { clock, sockets, add } = turnAway(129);
    assert.equal(sockets.filter(({ isDestroyed }) => isDestroyed).length, 1);
    assert(sockets[128]?.isDestroyed && sockets[128].text !== '');
    sockets[0]?.destroy();
    assert.equal(clock.timerCount, 127);
    const next = accepted();
    add(next);
    assert(!next.isDestroyed);
  });
});
