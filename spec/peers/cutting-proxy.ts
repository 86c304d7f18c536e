/**
 * A proxy in front of a server. It can cut a connection that calls scripts after a number of bytes
 * of replies, or drop all replies: the server has executed commands whose replies are lost.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Time between a cut of the replies and the end of the connection, in ms; commands still pass. */
const DROPPING_MS = 10;

export class CuttingProxy {
  /** Number of connections that were cut. */
  cutCount = 0;
  readonly #serverPort: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Bytes of replies that pass before the next cut; Infinity for no cut. */
  #passing = Number.POSITIVE_INFINITY;
  #isSilent = false;

  private constructor(serverPort: number) {
    this.#serverPort = serverPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(serverPort: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(serverPort);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  /** Cuts the next connection that calls scripts once this many bytes of replies have passed. */
  cutAfter(byteCount: number): void {
    this.#passing = byteCount;
  }

  /** Drops all replies from now on, or lets them pass again. */
  silence(isSilent: boolean): void {
    this.#isSilent = isSilent;
  }

  /** Ends all connections and accepts no more. */
  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    const server = connect({ port: this.#serverPort, host: '127.0.0.1' });
    let callsScripts = false;
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (bytes) => {
      callsScripts ||= bytes.includes('EVALSHA');
      server.write(bytes);
    });
    let isDropping = false;
    server.on('data', (bytes) => {
      if (this.#isSilent || isDropping) return;
      if (!callsScripts || bytes.length <= this.#passing) {
        if (callsScripts) this.#passing -= bytes.length;
        client.write(bytes);
        return;
      }
      client.write(bytes.subarray(0, this.#passing));
      this.#passing = Number.POSITIVE_INFINITY;
      this.cutCount++;
      isDropping = true;
      setTimeout(() => client.destroy(), DROPPING_MS);
    });
  }
}
