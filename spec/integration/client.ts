/** HTTP client for tests over real sockets. It sends bytes and reads complete responses. */
import { connect, type Socket } from 'node:net';

export interface ReceivedResponse {
  readonly status: number;
  /** Field names, in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export class RawClient {
  readonly socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  /** Chunks after `received`, the bytes of both, and those that the next response needs. */
  #chunks: Buffer[] = [];
  #receivedBytes = 0;
  #neededBytes = 0;
  #waiting: (() => void) | undefined;
  #hasEnded = false;

  /** `to` is a port of this machine, or a socket that the caller has opened. */
  constructor(to: number | Socket) {
    this.socket =
      typeof to === 'number' ? connect({ host: '127.0.0.1', port: to, noDelay: true }) : to;
    this.socket.on('data', (chunk) => {
      this.#chunks.push(chunk);
      this.#receivedBytes += chunk.length;
      if (this.#receivedBytes >= this.#neededBytes) this.#waiting?.();
    });
    this.socket.on('error', () => this.socket.destroy());
    this.socket.on('close', () => {
      this.#hasEnded = true;
      this.#waiting?.();
    });
  }

  send(bytes: Buffer | string): void {
    this.socket.write(bytes);
  }

  /** Sends a request and reads its response. */
  async request(
    method: string,
    path: string,
    body?: Buffer,
    contentType?: string,
    lines?: string,
  ): Promise<ReceivedResponse> {
    this.send(requestBytes(method, path, body, contentType, lines));
    const response = await this.response();
    if (response === undefined) throw new Error(`Cannot read the response to ${method} ${path}`);
    return response;
  }

  /** Returns the next response; undefined if the connection ended before a response began. */
  async response(): Promise<ReceivedResponse | undefined> {
    for (;;) {
      const response = this.#take();
      if (response !== undefined) return response;
      if (this.#hasEnded) {
        if (this.#receivedBytes > 0) throw new Error('The connection ended within a response');
        return undefined;
      }
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }

  destroy(): void {
    this.socket.destroy();
  }

  #take(): ReceivedResponse | undefined {
    if (this.#receivedBytes < this.#neededBytes) return undefined;
    if (this.#chunks.length > 0) {
      this.#received = Buffer.concat([this.#received, ...this.#chunks]);
      this.#chunks = [];
    }
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const [line = '', ...rest] = this.#received.toString('latin1', 0, headEnd).split('\r\n');
    const fields = new Map(
      rest.map((field) => {
        const colon = field.indexOf(': ');
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 2)] as const;
      }),
    );
    const isChunked = fields.get('transfer-encoding') === 'chunked';
    const length = Number(fields.get('content-length') ?? 0);
    const content = isChunked
      ? chunksIn(this.#received, headEnd + 4)
      : { end: headEnd + 4 + length, pieces: [] };
    if (content === undefined) return undefined;
    const { end, pieces } = content;
    this.#neededBytes = end;
    if (this.#receivedBytes < end) return undefined;
    const body = isChunked ? Buffer.concat(pieces) : this.#received.subarray(headEnd + 4, end);
    this.#received = this.#received.subarray(end);
    this.#receivedBytes -= end;
    this.#neededBytes = 0;
    return { status: Number(line.split(' ')[1]), fields, body };
  }
}

/** Returns the pieces of chunked content and its end; undefined if it is incomplete. */
function chunksIn(bytes: Buffer, start: number): { end: number; pieces: Buffer[] } | undefined {
  const pieces: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const pieceEnd = lineEnd + 2 + length;
    at = pieceEnd + 2;
    if (bytes.length < at) return undefined;
    if (length === 0) return { end: at, pieces };
    pieces.push(bytes.subarray(lineEnd + 2, pieceEnd));
  }
}

/**
 * Returns an HTTP/1.1 request; the path begins with `v1/`, or is relative to `/grid/rest/`. `lines`: those
 * of further fields.
 */
export function requestBytes(
  method: string,
  path: string,
  body: Buffer = Buffer.alloc(0),
  contentType = '',
  lines = '',
): Buffer {
  const type = contentType === '' ? '' : `Content-Type: ${contentType}\r\n`;
  const base = path.startsWith('v1/') ? '' : 'rest/';
  const head =
    `${method} /grid/${base}${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${type}${lines}` +
    `Content-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}
