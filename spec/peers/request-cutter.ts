/**
 * A proxy in front of a member. It ends the connection of each request whose first line matches,
 * once the request is complete: its client cannot know whether the request took effect. Clients that
 * send such a request again are found by the count.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

export class RequestCutter {
  /** The first lines of the requests that were cut. */
  readonly cut: string[] = [];
  readonly #server: Server;

  private constructor(memberPort: number, pattern: RegExp) {
    this.#server = createServer((client) => this.#accept(client, memberPort, pattern));
  }

  static async start(memberPort: number, pattern: RegExp): Promise<RequestCutter> {
    const cutter = new RequestCutter(memberPort, pattern);
    cutter.#server.listen(0, '127.0.0.1');
    await once(cutter.#server, 'listening');
    return cutter;
  }

  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  stop(): void {
    this.#server.close();
  }

  #accept(client: Socket, memberPort: number, pattern: RegExp): void {
    const member = connect({ port: memberPort, host: '127.0.0.1' });
    for (const socket of [client, member]) socket.on('error', () => {});
    client.on('close', () => member.destroy());
    member.on('close', () => client.destroy());
    member.on('data', (bytes) => client.write(bytes));
    let received = Buffer.alloc(0);
    client.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      for (;;) {
        const length = requestLength(received);
        if (length === undefined) return;
        const line = received.toString('latin1', 0, received.indexOf('\r\n'));
        if (pattern.test(line)) {
          this.cut.push(line);
          client.destroy();
          return;
        }
        member.write(received.subarray(0, length));
        received = received.subarray(length);
      }
    });
  }
}

/** Returns the bytes of the first request, or undefined if it is incomplete. */
function requestLength(received: Buffer): number | undefined {
  const end = received.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const head = received.toString('latin1', 0, end);
  const start = end + HEAD_END.length;
  if (/^transfer-encoding: *chunked/im.test(head)) {
    const last = received.indexOf(LAST_CHUNK, start);
    return last < 0 ? undefined : last + LAST_CHUNK.length;
  }
  const length = start + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  return received.length < length ? undefined : length;
}
