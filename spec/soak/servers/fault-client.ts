/**
 * A connection to a member that is renewed after it ends. Distinguishes a request that was not
 * sent, one without a response, and one with a response.
 */
import { connect, type Socket } from 'node:net';
import { RawClient, type ReceivedResponse, requestBytes } from '../../integration/client.ts';

const CONNECT_MS_MAX = 1000;

/** `unsent`: no connection could be made. `unanswered`: the connection ended without a response. */
export type RequestResult = ReceivedResponse | 'unsent' | 'unanswered';

export class FaultClient {
  readonly #host: string;
  readonly #port: number;
  readonly #responseMs: number;
  #client: RawClient | undefined;

  /** `responseMs`: time after which a request without a response ends the connection. */
  constructor(host: string, port: number, responseMs: number) {
    this.#host = host;
    this.#port = port;
    this.#responseMs = responseMs;
  }

  /** Sends a request. The path is relative to the root of REST. */
  request(method: string, path: string, body?: Buffer): Promise<RequestResult> {
    return this.#sent(requestBytes(method, path, body));
  }

  /** Requests the readiness of the member. */
  requestReady(): Promise<RequestResult> {
    return this.#sent('GET /grid/health/ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  }

  end(): void {
    this.#client?.destroy();
    this.#client = undefined;
  }

  async #sent(bytes: Buffer | string): Promise<RequestResult> {
    const client = await this.#connected();
    if (client === undefined) return 'unsent';
    const late = setTimeout(() => client.destroy(), this.#responseMs);
    try {
      client.send(bytes);
      const response = await client.response();
      if (response !== undefined) return response;
    } catch {
      // The connection ended within the response.
    } finally {
      clearTimeout(late);
    }
    this.end();
    return 'unanswered';
  }

  async #connected(): Promise<RawClient | undefined> {
    if (this.#client?.socket.destroyed === false) return this.#client;
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true });
    const isConnected = await connected(socket);
    this.#client = isConnected ? new RawClient(socket) : undefined;
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
