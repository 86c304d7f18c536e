/**
 * A proxy in front of a server of the engine that swallows or doubles one reply in
 * `repliesPerFault`, and can delay the replies of all connections. It splits the server's bytes
 * into replies (RESP 2 and 3); messages to subscribers pass unchanged.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Random } from '../../../bench/harness.ts';

const CR = 13;
const LF = 10;
const BULK_TYPES = '$!=';
const AGGREGATE_TYPES = '*~>';
const PUSH = '>'.charCodeAt(0);
const SUBSCRIBER_MESSAGE = /^\*\d\r\n\$\d+\r\ns?(?:message|subscribe|unsubscribe)\r\n/;

/** A reply that was swallowed or doubled. Times are those of `performance.now()`, in ms. */
export interface ReplyFault {
  readonly kind: 'swallowed' | 'doubled';
  readonly at: number;
  /** Time at which the connection ended; undefined while it is open. */
  endedAt: number | undefined;
}

export interface ReplyProxyOptions {
  readonly serverPort: number;
  readonly random: Random;
  readonly repliesPerFault: number;
}

interface ProxiedConnection {
  readonly client: Socket;
  readonly faults: ReplyFault[];
  /** Whether the client has sent commands on maps or queues. */
  hasData: boolean;
  /** Replies that are delayed; undefined without a delay. */
  delayed: Buffer[] | undefined;
}

export class ReplyProxy {
  readonly faults: ReplyFault[] = [];
  replyCount = 0;
  readonly #options: ReplyProxyOptions;
  readonly #server: Server;
  readonly #connections = new Set<ProxiedConnection>();

  private constructor(options: ReplyProxyOptions) {
    this.#options = options;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(options: ReplyProxyOptions): Promise<ReplyProxy> {
    const proxy = new ReplyProxy(options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  /**
   * Delays the replies of each connection with data for `ms`. Returns the number of connections
   * without a fault that ended meanwhile.
   */
  async delay(ms: number): Promise<number> {
    const delayed = [...this.#connections].filter(({ hasData }) => hasData);
    for (const connection of delayed) connection.delayed = [];
    await new Promise((resolve) => setTimeout(resolve, ms));
    const lost = delayed.filter(
      (connection) => connection.faults.length === 0 && !this.#connections.has(connection),
    );
    for (const connection of delayed) {
      const replies = connection.delayed ?? [];
      connection.delayed = undefined;
      connection.client.write(Buffer.concat(replies));
    }
    return lost.length;
  }

  stop(): void {
    this.#server.close();
    for (const { client } of this.#connections) client.destroy();
  }

  #accept(client: Socket): void {
    const server = connect({ port: this.#options.serverPort, host: '127.0.0.1', noDelay: true });
    client.setNoDelay(true);
    const connection: ProxiedConnection = {
      client,
      faults: [],
      hasData: false,
      delayed: undefined,
    };
    this.#connections.add(connection);
    const end = (): void => {
      client.destroy();
      server.destroy();
      this.#connections.delete(connection);
      for (const fault of connection.faults) fault.endedAt ??= performance.now();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
    client.on('data', (bytes) => {
      connection.hasData ||= bytes.includes('HGET') || bytes.includes('EVALSHA');
      server.write(bytes);
    });
    let incomplete: Buffer = Buffer.alloc(0);
    server.on('data', (bytes) => {
      const received = Buffer.concat([incomplete, bytes]);
      const forwarded: Buffer[] = [];
      let from = 0;
      for (let end = replyEnd(received, 0); end > 0; end = replyEnd(received, from)) {
        const reply = received.subarray(from, end);
        from = end;
        forwarded.push(...this.#withFault(reply, connection));
      }
      incomplete = received.subarray(from);
      if (connection.delayed !== undefined) connection.delayed.push(...forwarded);
      else client.write(Buffer.concat(forwarded));
    });
  }

  /** Returns the replies to forward: the reply once, unless a fault is injected. */
  #withFault(reply: Buffer, { faults }: ProxiedConnection): Buffer[] {
    if (reply[0] === PUSH || SUBSCRIBER_MESSAGE.test(reply.toString('latin1', 0, 40)))
      return [reply];
    this.replyCount++;
    const { random, repliesPerFault } = this.#options;
    if (random.below(repliesPerFault) > 0) return [reply];
    const kind = random.below(2) === 0 ? 'swallowed' : 'doubled';
    const fault: ReplyFault = { kind, at: performance.now(), endedAt: undefined };
    faults.push(fault);
    this.faults.push(fault);
    return kind === 'swallowed' ? [] : [reply, reply];
  }
}

/** Returns the offset after the reply that begins at `from`; -1 if it is incomplete. */
function replyEnd(bytes: Buffer, from: number): number {
  let at = from;
  for (let dueCount = 1; dueCount > 0; dueCount--) {
    const lineEnd = bytes.indexOf(LF, at);
    if (lineEnd < 0) return -1;
    const type = String.fromCharCode(bytes[at] ?? 0);
    const count = Number(
      bytes.toString('latin1', at + 1, bytes[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd),
    );
    at = lineEnd + 1;
    if (BULK_TYPES.includes(type) && count >= 0) at += count + 2;
    else if (AGGREGATE_TYPES.includes(type)) dueCount += Math.max(count, 0);
    else if (type === '%') dueCount += 2 * count;
    if (at > bytes.length) return -1;
  }
  return at;
}
