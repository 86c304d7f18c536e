/** The two sides of a connection over loopback. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Returns the client's side, and the server's, which is not read yet. */
export async function socketPair(host = '127.0.0.1'): Promise<[client: Socket, accepted: Socket]> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host, allowHalfOpen: true });
  const [accepted] = (await once(server, 'connection')) as [Socket];
  server.close();
  return [client, accepted];
}
