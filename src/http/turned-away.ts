/**
 * Connections beyond the limit: each gets an answer and is closed. It is read for a while, so that no
 * reset overtakes the answer; where too many come at once for that, the others are only closed.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { REFUSALS, refusalText } from '../base/refusals.ts';
import { statusLine } from './status.ts';

/** How long such a connection is read, in milliseconds. */
const READ_MS = 2000;
/** How many such connections are read at a time by default. */
const READ_COUNT_MAX = 128;

export class TurnedAway {
  readonly #clock: Clock;
  readonly #readCountMax: number;
  readonly #sockets = new Set<Socket>();

  constructor(clock: Clock, readCountMax: number = READ_COUNT_MAX) {
    this.#clock = clock;
    this.#readCountMax = readCountMax;
  }

  /** Answers that so many are open and ends the connection. `dateLine`: the Date field. */
  add(socket: Socket, connectionsMax: number, dateLine: string): void {
    const { status } = REFUSALS.TOO_MANY_CONNECTIONS;
    const message = refusalText('TOO_MANY_CONNECTIONS', { connectionsMax });
    const body = JSON.stringify({ status: 'fail', message });
    const answer =
      `${statusLine(status)}${dateLine}Content-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
    socket.on('error', () => socket.destroy());
    if (this.#sockets.size >= this.#readCountMax) {
      // Both are done before the calls return, so that none of many such connections has a descriptor
      // when the next one is accepted.
      socket.write(answer);
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    const timer = this.#clock.after(READ_MS, () => socket.destroy());
    socket.on('close', () => {
      timer.cancel();
      this.#sockets.delete(socket);
    });
    socket.resume();
    socket.end(answer);
  }

  /** Cuts off all that are read. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
