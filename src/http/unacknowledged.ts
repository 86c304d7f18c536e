/**
 * Counts the bytes in the kernel's send queues, which clients have not acknowledged. If a socket is closed
 * while its client is still sending, it is reset, and these bytes are lost. Node does not report them;
 * Linux lists them for all sockets. On other systems the count is 0.
 */
import { readFileSync } from 'node:fs';

const FILES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** Maximum time for which a list is reused, in ms. */
const AGE_MS_MAX = 250;

/** The ports of a connection, by which it is found. */
interface Ports {
  readonly localPort?: number | undefined;
  readonly remotePort?: number | undefined;
}

export class Unacknowledged {
  #bytes: ReadonlyMap<string, number> = new Map();
  #readMs = Number.NEGATIVE_INFINITY;

  /** Returns the bytes of a connection. O(sockets of the machine), once per AGE_MS_MAX. */
  of({ localPort, remotePort }: Ports, nowMs: number): number {
    if (nowMs >= this.#readMs + AGE_MS_MAX) {
      this.#readMs = nowMs;
      this.#bytes = new Map(FILES.flatMap((file) => rowsOf(file)));
    }
    return this.#bytes.get(`${localPort} ${remotePort}`) ?? 0;
  }
}

/** Returns the ports of each socket and its unacknowledged bytes. */
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

/** Matches the ports and the length of the send queue, in hexadecimal. */
const ROW = /: \w+:(\w{4}) \w+:(\w{4}) \w\w (\w{8}):/g;
