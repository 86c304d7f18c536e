/**
 * Connections beyond the limit: each gets a response and is closed. It is read for a while, so that a TCP
 * reset cannot discard the response. If there are too many at a time, the others are closed immediately
 * after the response.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { REFUSALS, refusalText } from '../base/refusals.ts';
import { statusLine } from './status.ts';

/** Time for which a refused connection is read, in ms. */
const READ_MS = 2000;
/** Default limit for the refused connections that are read at a time. */
const READ_COUNT_MAX = 128;

export class RefusedConnections {
  readonly #clock: Clock;
  readonly #readCountMax: number;
  readonly #sockets = new Set<Socket>();

  constructor(clock: Clock, readCountMax: number = READ_COUNT_MAX) {
    this.#clock = clock;
    this.#readCountMax = readCountMax;
  }

  /** Responds that the limit is reached, and ends the connection. `dateLine`: the Date field. */
  add(socket: Socket, connectionsMax: number, dateLine: string): void {
    const { status } = REFUSALS.TOO_MANY_CONNECTIONS;
    const message = refusalText('TOO_MANY_CONNECTIONS', { connectionsMax });
    const body = JSON.stringify({ status: 'fail', message });
    const response =
      `${statusLine(status)}${dateLine}Content-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
    socket.on('error', () => socket.destroy());
    if (this.#sockets.size >= this.#readCountMax) {
      // Both take effect before they return, so that the descriptor is free when the next connection of a
      // flood is accepted.
      socket.write(response);
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
    socket.end(response);
  }

  /** Destroys all sockets that are being read. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
