/**
 * A connection to a member, which is made again where it has ended. What becomes of a request is told apart.
 */
import { connect, type Socket } from 'node:net';
import { RawClient, type ReceivedResponse, requestBytes } from '../../integration/client.ts';

const CONNECT_MS_MAX = 1000;

/** `unsent`: there was no connection. `unanswered`: it has ended instead of an answer. */
export type Asked = ReceivedResponse | 'unsent' | 'unanswered';

export class FaultClient {
  readonly #host: string;
  readonly #port: number;
  readonly #answerMs: number;
  #client: RawClient | undefined;

  /** `answerMs`: a request that is not answered by then ends the connection. */
  constructor(host: string, port: number, answerMs: number) {
    this.#host = host;
    this.#port = port;
    this.#answerMs = answerMs;
  }

  /** The path is below that of REST. */
  ask(method: string, path: string, body?: Buffer): Promise<Asked> {
    return this.#sent(requestBytes(method, path, body));
  }

  /** The same of whether the member is ready. */
  askReady(): Promise<Asked> {
    return this.#sent('GET /grid/health/ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  }

  end(): void {
    this.#client?.destroy();
    this.#client = undefined;
  }

  async #sent(bytes: Buffer | string): Promise<Asked> {
    const client = await this.#connected();
    if (client === undefined) return 'unsent';
    const late = setTimeout(() => client.destroy(), this.#answerMs);
    try {
      client.send(bytes);
      const response = await client.response();
      if (response !== undefined) return response;
    } catch {
      // It ended within the response.
    } finally {
      clearTimeout(late);
    }
    this.end();
    return 'unanswered';
  }

  async #connected(): Promise<RawClient | undefined> {
    if (this.#client?.socket.destroyed === false) return this.#client;
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true });
    const isMade = await connected(socket);
    this.#client = isMade ? new RawClient(socket) : undefined;
    return this.#client;
  }
}

function connected(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(() => socket.destroy(), CONNECT_MS_MAX);
    socket.once('connect', () => {
      clearTimeout(late);
      resolve(true);
    });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(late);
      resolve(false);
    });
  });
}
