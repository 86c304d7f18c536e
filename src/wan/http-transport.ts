/**
 * Messages over HTTP: POST to the endpoint's `rest/wan/receive`, on connections that are kept. A connection
 * on which bytes come that nobody asked for is destroyed: they would be taken for the next answer.
 */
import { type ClientRequest, type IncomingMessage, Agent as PlainAgent, request } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { WanEndpoint } from './publisher-options.ts';
import { ANSWER_BYTES_MAX, type TransportAnswer, type WanTransport } from './wan-transport.ts';

/** A connection that was not used for this long may have been closed by what lies between. */
const IDLE_MS_MAX = 15_000;

interface HttpTransportOptions {
  /** First part of the paths of endpoints that name none. */
  readonly segment: string;
  /** Both or neither. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** For endpoints with TLS. */
  readonly tls: SecureContextOptions;
}

export class HttpTransport implements WanTransport {
  readonly #options: HttpTransportOptions;
  readonly #agent = new PlainAgent({ keepAlive: true, timeout: IDLE_MS_MAX });
  readonly #tlsAgent = new TlsAgent({ keepAlive: true, timeout: IDLE_MS_MAX });
  #tls: SecureContextOptions;
  /** Not an AbortSignal.any for each: Node 20 keeps some bytes of every one as long as its sources live. */
  readonly #underWay = new Set<ClientRequest>();
  #isClosed = false;
  readonly #authorization: string | undefined;

  constructor(options: HttpTransportOptions) {
    const { username, password, tls } = options;
    this.#options = options;
    this.#tls = tls;
    if (username !== undefined) {
      const login = Buffer.from(`${username}:${password ?? ''}`).toString('base64');
      this.#authorization = `Basic ${login}`;
    }
    for (const agent of [this.#agent, this.#tlsAgent]) agent.on('free', watch);
  }

  send(endpoint: WanEndpoint, message: Uint8Array, signal: AbortSignal): Promise<TransportAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new Error('the publisher is closed');
      const sent = this.#request(endpoint, message, signal);
      this.#underWay.add(sent);
      sent.on('close', () => this.#underWay.delete(sent));
      sent.on('socket', (socket: Socket) => socket.removeListener('data', destroyUnasked));
      sent.on('error', reject);
      sent.on('response', (response) => readAnswer(response, resolve, reject));
      sent.end(message);
    });
  }

  /**
   * Connections that begin from now on use these files. Those that are there get no further message, and end
   * as idle ones do: an agent has them under the files that they were made with.
   */
  renewTls(tls: SecureContextOptions): void {
    this.#tls = tls;
  }

  /** Open connections, in use or not. */
  get connectionCount(): number {
    let count = 0;
    for (const agent of [this.#agent, this.#tlsAgent]) {
      for (const sockets of Object.values({ ...agent.sockets })) count += sockets?.length ?? 0;
      for (const sockets of Object.values({ ...agent.freeSockets })) count += sockets?.length ?? 0;
    }
    return count;
  }

  close(): void {
    this.#isClosed = true;
    for (const sent of this.#underWay) sent.destroy();
    this.#agent.destroy();
    this.#tlsAgent.destroy();
  }

  #request(endpoint: WanEndpoint, message: Uint8Array, signal: AbortSignal): ClientRequest {
    const { host, port, tls, segment = this.#options.segment } = endpoint;
    const headers: Record<string, string | number> = {
      'Content-Type': 'application/octet-stream',
      'Content-Length': message.length,
    };
    if (this.#authorization !== undefined) headers.Authorization = this.#authorization;
    const path = `/${segment}/rest/wan/receive`;
    const options = { host, port, path, method: 'POST', headers, signal };
    return tls
      ? requestTls({ ...options, ...this.#tls, agent: this.#tlsAgent })
      : request({ ...options, agent: this.#agent });
  }
}

/** From now on nobody has asked for bytes on this connection. */
function watch(socket: Socket): void {
  // A request that waited for a connection would have it already; none wait, as agents have no limit.
  // One that was free twice without a request between has one listener all the same.
  socket.removeListener('data', destroyUnasked).on('data', destroyUnasked);
}

function destroyUnasked(this: Socket): void {
  this.destroy();
}

function readAnswer(
  response: IncomingMessage,
  resolve: (answer: TransportAnswer) => void,
  reject: (error: Error) => void,
): void {
  const chunks: Buffer[] = [];
  let length = 0;
  response.on('error', reject);
  response.on('data', (chunk: Buffer) => {
    length += chunk.length;
    chunks.push(chunk);
    if (length <= ANSWER_BYTES_MAX) return;
    const most = ANSWER_BYTES_MAX;
    response.destroy(new Error(`the answer is longer than ${most} bytes`));
  });
  response.on('end', () => {
    if (!response.complete) reject(new Error('the answer is cut off'));
    else resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) });
  });
}
