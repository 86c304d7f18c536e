/** Ports for servers that listen later. */
import { createServer } from 'node:net';

/** Below the ephemeral ports of systems: an outgoing connection might use one of those first. */
const FIRST_PORT = 10_000;
const PORT_MAX = 30_000;

/** Returns a port below `max` on which no process listens now. */
export async function freePort(max = PORT_MAX): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (max - FIRST_PORT));
    if (await isFree(port)) return port;
  }
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
