/**
 * A proxy before a server of the engine. It can drop the replies of a connection that calls scripts when so
 * many bytes of them have passed, and cut it in a moment, or hold replies back: the server has done what the
 * client does not hear of. And it can hold commands back, so that the server does them after their client
 * has given up.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Requests go on for so long behind the last reply that passes. */
const DROPPING_MS = 10;

export class CuttingProxy {
  /** Connections that were cut. */
  cutCount = 0;
  readonly #serverPort: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Bytes of replies that pass before the cut; Infinity for none. */
  #passing = Number.POSITIVE_INFINITY;
  #isSilent = false;
  /** Passes the commands on that are held back; undefined while none are. */
  #heldBack: (() => void)[] | undefined;

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

  /** Of the connection that calls scripts, so many bytes of replies pass before the cut. */
  cutAfter(byteCount: number): void {
    this.#passing = byteCount;
  }

  /** Replies are dropped from now on, or pass again. */
  silence(isSilent: boolean): void {
    this.#isSilent = isSilent;
  }

  /** Commands are held back from now on, also when their clients end; the connections made later pass. */
  holdBack(): void {
    this.#heldBack = [];
  }

  /** Passes on what was held back. */
  passOn(): void {
    const heldBack = this.#heldBack ?? [];
    this.#heldBack = undefined;
    for (const pass of heldBack) pass();
  }

  /** Ends all connections and takes no more. */
  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    const server = connect({ port: this.#serverPort, host: '127.0.0.1' });
    let callsScripts = false;
    const isOld = () => this.#heldBack !== undefined && !isNew;
    const isNew = this.#heldBack !== undefined;
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        if (!isOld()) other.destroy();
      });
    }
    client.on('data', (bytes) => {
      callsScripts ||= bytes.includes('EVALSHA');
      if (isOld()) this.#heldBack?.push(() => server.write(bytes));
      else server.write(bytes);
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
