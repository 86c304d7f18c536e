/**
 * The bytes that the system has sent, or is to send, and that clients have not acknowledged. Node does not
 * report them. A socket that is closed while its client goes on sending is reset, and these bytes are lost.
 * Linux lists them for all sockets; elsewhere there are none.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

const FILES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** How old the list may be, in milliseconds. */
const AGE_MS_MAX = 250;

export class Unacknowledged {
  #bytes: ReadonlyMap<string, number> = new Map();
  #readMs = Number.NEGATIVE_INFINITY;

  /** The bytes of the socket, by its ports. O(sockets of the machine), once in AGE_MS_MAX. */
  of({ localPort, remotePort }: Socket, nowMs: number): number {
    if (nowMs >= this.#readMs + AGE_MS_MAX) {
      this.#readMs = nowMs;
      this.#bytes = new Map(FILES.flatMap((file) => rowsOf(file)));
    }
    return this.#bytes.get(`${localPort} ${remotePort}`) ?? 0;
  }
}

/** The ports of each socket, and its unacknowledged bytes. */
function rowsOf(file: string): (readonly [string, number])[] {
  let text = '';
  try {
    text = readFileSync(file, 'latin1');
  } catch {
    // Not Linux, or no IPv6.
    return [];
  }
  return [...text.matchAll(ROW)].map(([, local = '', remote = '', queue = '']) => {
    const [from, to, bytes] = [local, remote, queue].map((digits) => Number.parseInt(digits, 16));
    return [`${from} ${to}`, bytes ?? 0];
  });
}

/** Ports and the length of the queue to send, in hexadecimal. */
const ROW = /: \w+:(\w{4}) \w+:(\w{4}) \w\w (\w{8}):/g;
