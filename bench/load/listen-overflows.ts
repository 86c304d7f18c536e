/**
 * The connections that the kernel could not queue because a server had not accepted earlier ones. Their
 * clients repeat their packets after a second or longer. Linux counts them for all servers together.
 */
import { readFileSync } from 'node:fs';

/** Returns the number since the start of the system; NaN on other systems. */
export function listenOverflows(): number {
  const [names = '', values = ''] = tcpLines();
  const place = names.split(' ').indexOf('ListenOverflows');
  return Number(values.split(' ')[place]);
}

/** The two lines of TCP's further counters: the names, and the values in the same order. */
function tcpLines(): string[] {
  try {
    const lines = readFileSync('/proc/net/netstat', 'latin1').split('\n');
    return lines.filter((line) => line.startsWith('TcpExt: '));
  } catch {
    // Other systems have no such file.
    return [];
  }
}
