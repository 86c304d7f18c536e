import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { RefusedConnections } from '../../src/http/refused-connections.ts';
import { FakeClock } from '../fake-clock.ts';

class Accepted extends EventEmitter {
  text = '';
  isDestroyed = false;
  isRead = false;

  resume(): void {
    this.isRead = true;
  }

  write(text: string): void {
    assert(!this.isDestroyed);
    this.text = text;
  }

  end(text: string): void {
    this.text = text;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }
}

describe('RefusedConnections', () => {
  function turnAway(count: number) {
    const clock = new FakeClock();
    const refused = new RefusedConnections(clock);
    const sockets = Array.from({ length: count }, () => new Accepted());
    const add = (socket: Accepted): void =>
      refused.add(socket as unknown as Socket, 1, 'Date: now\r\n');
    sockets.forEach(add);
    return { clock, sockets, add };
  }

  it('get 503 with the reason, are read for two seconds and closed', () => {
    const { clock, sockets } = turnAway(1);
    const [socket] = sockets;
    assert.match(socket?.text ?? '', /^HTTP\/1.1 503 .*\r\nDate: now\r\n/);
    assert.match(
      socket?.text ?? '',
      /\r\n\r\n{"status":"fail","message":"Cannot accept another connection: 1 are open"}$/,
    );
    clock.advance(1999);
    assert.deepEqual([socket?.isRead, socket?.isDestroyed], [true, false]);
    clock.advance(1);
    assert(socket?.isDestroyed);
  });

  it('are read up to 128 at a time; others are answered and closed immediately', () => {
    const { clock, sockets, add } = turnAway(129);
    assert.equal(sockets.filter(({ isDestroyed }) => isDestroyed).length, 1);
    assert(sockets[128]?.isDestroyed && sockets[128].text !== '');
    sockets[0]?.destroy();
    assert.equal(clock.timerCount, 127);
    const next = new Accepted();
    add(next);
    assert(!next.isDestroyed);
  });
});
