/** Runs a command through a proxy that ends each connection to the member. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { run } from './run-command.ts';

/** Ends the connections once this many bytes of responses have passed. `port`: of the member. */
export async function runCut(port: number, bytesMax: number, words: readonly string[]) {
  const sockets: Socket[] = [];
  let left = bytesMax;
  const proxy = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1');
    sockets.push(socket, upstream);
    for (const each of [socket, upstream]) each.on('error', () => {});
    socket.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      socket.write(chunk.subarray(0, Math.max(0, left)));
      left -= chunk.length;
      if (left <= 0) socket.end(() => socket.destroy());
    });
    upstream.on('end', () => socket.end());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port: proxyPort } = proxy.address() as { port: number };
  const result = await run(...words, '--address', `127.0.0.1:${proxyPort}`);
  for (const socket of sockets) socket.destroy();
  proxy.close();
  return { ...result, connections: sockets.length / 2 };
}
