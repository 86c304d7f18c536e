/**
 * A server for the engine on Redis or Valkey that replies as a test specifies, over a real socket.
 * It replies to the engine's own queries, stores nothing, and records each command about data.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { replyValue } from '../../../src/engine/redis/control-connection.ts';
import { ReplyReader } from '../../../src/engine/redis/reply.ts';

/** A reply as it is sent, one character per byte. */
export type FakeReply = string;

/**
 * Returns the reply to a command; undefined for the usual one, `SILENCE` for none, `CUT` to end the
 * connection.
 */
export type Script = (words: readonly string[]) => FakeReply | undefined;

export const SILENCE = '';
export const CUT = 'cut';
export const OK = '+OK\r\n';
export const DONE = ':1\r\n';
export const NIL_REPLY = '$-1\r\n';

/** Commands that are not about data. */
const USUAL_REPLIES: Readonly<
  Record<string, (server: FakeServer, words: readonly string[]) => string>
> = {
  AUTH: () => OK,
  PING: () => '+PONG\r\n',
  SCRIPT: () => bulk('sha'),
  INFO: ({ version, mode, maxMemory, policy }, [, section]) =>
    section === 'memory'
      ? bulk(`# Memory\r\nmaxmemory:${maxMemory}\r\nmaxmemory_policy:${policy}\r\n`)
      : bulk(`# Server\r\nredis_version:${version}\r\nredis_mode:${mode}\r\n`),
  ROLE: ({ replicaCount }) => {
    const replicas = Array.from({ length: replicaCount }, () => array(['h', '1', '0'].map(bulk)));
    return array([bulk('master'), ':0\r\n', array(replicas)]);
  },
  TIME: () => array([bulk(`${Math.floor(Date.now() / 1000)}`), bulk('0')]),
  CLIENT: (_, [, word]) =>
    word === 'INFO' ? bulk('id=1 addr=127.0.0.1:1') : word === 'KILL' ? DONE : OK,
  CONFIG: () => array([]),
  WAIT: ({ replicaCount }) => `:${replicaCount}\r\n`,
  ASKING: () => OK,
  ECHO: (_, words) => bulk(words[1] ?? ''),
};

export class FakeServer {
  version = '7.0.15';
  mode = 'standalone';
  replicaCount = 0;
  maxMemory = 0;
  policy = 'noeviction';
  /** Called first for each command, except for trials of rights. */
  script: Script = () => undefined;
  /** Called for trials of rights: calls of scripts without keys, and subscriptions. */
  rights: Script = () => undefined;
  /** Whether the server writes byte by byte. */
  isSlow = false;
  /** The commands about data in the order received, each with its reply. */
  readonly received: { readonly words: readonly string[]; readonly reply: FakeReply }[] = [];
  /** Number of connections that clients have reset. */
  resetCount = 0;
  /** Number of ROLE queries. */
  roleCount = 0;
  /** The command whose next reply is lost. */
  #swallowed: string | undefined;
  /** The command whose next reply is delayed, and the connection on which replies are delayed. */
  #heldFrom: string | undefined;
  #held: Socket | undefined;
  #heldReplies: string[] = [];
  /** Port; 0 before the start. */
  port = 0;
  #slowed: Promise<void> = Promise.resolve();
  /**
   * Connections on which a command got no reply. Replies are in order, so no later command gets one
   * either.
   */
  #silent: Socket | undefined;
  readonly #silenced = new WeakSet<Socket>();
  readonly #subscribers = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(script?: Script): Promise<FakeServer> {
    const server = new FakeServer();
    if (script !== undefined) server.script = script;
    await server.listen();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Returns the commands that got a reply other than an error. */
  get done(): (readonly string[])[] {
    return this.received
      .filter(({ reply }) => reply !== SILENCE && reply !== CUT && !reply.startsWith('-'))
      .map(({ words }) => words);
  }

  /** Listens again on the same port. */
  async listen(): Promise<void> {
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** Returns a reply after which the connection is ended. */
  cutAfter(reply: string): FakeReply {
    return reply === '' ? CUT : `${reply}${CUT}`;
  }

  /** Loses the next reply to the command. */
  swallowNext(command: string): void {
    this.#swallowed = command;
  }

  /** Delays the next reply to the command and those after it on its connection until `release`. */
  holdNext(command: string): void {
    this.#heldFrom = command;
  }

  /** Sends the delayed replies in order. Returns their number. */
  release(): number {
    const replies = this.#heldReplies;
    this.#held?.write(replies.join(''), 'latin1');
    this.#held = undefined;
    this.#heldReplies = [];
    return replies.length;
  }

  /** Replies to the last command that got no reply. */
  replyLate(reply: FakeReply): void {
    if (this.#silent !== undefined) this.#silenced.delete(this.#silent);
    this.#silent?.write(reply);
  }

  /** Sends a message to the connections that subscribe. */
  publish(message: FakeReply): void {
    for (const socket of this.#subscribers) socket.write(message);
  }

  /** Ends one connection on which no command is pending. */
  dropOne(): void {
    for (const socket of this.#sockets) {
      if (!this.#silenced.has(socket)) return void socket.destroy();
    }
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Writes each byte in a separate turn, so that each arrives separately. */
  #slowly(socket: Socket, byte: number): void {
    this.#slowed = this.#slowed.then(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      socket.write(Buffer.of(byte));
    });
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNRESET') this.resetCount++;
    });
    socket.on('close', () => this.#sockets.delete(socket));
    const reader = new ReplyReader((command) => {
      const words = replyValue(command);
      if (Array.isArray(words)) this.#reply(socket, words.map(String));
    });
    socket.on('data', (bytes) => reader.read(bytes, bytes.length));
  }

  #reply(socket: Socket, words: readonly string[]): void {
    const usual = USUAL_REPLIES[words[0] ?? ''];
    const isOfRights = isTrial(words);
    const scripted = isOfRights ? this.rights(words) : this.script(words);
    const reply = scripted ?? usual?.(this, words) ?? usualReply(words);
    if (usual === undefined && !isOfRights) this.received.push({ words, reply });
    if (words[0] === 'ROLE') this.roleCount++;
    if (words[0] === this.#swallowed) {
      this.#swallowed = undefined;
      return;
    }
    if (words[0] === this.#heldFrom) {
      this.#heldFrom = undefined;
      this.#held = socket;
    }
    if (socket === this.#held) {
      this.#heldReplies.push(reply);
      return;
    }
    if (words[0] === 'SUBSCRIBE') this.#subscribers.add(socket);
    if (reply === SILENCE) {
      this.#silent = socket;
      this.#silenced.add(socket);
    }
    if (socket.destroyed || this.#silenced.has(socket)) return;
    if (reply.endsWith(CUT)) socket.end(reply.slice(0, -CUT.length), 'latin1');
    else if (this.isSlow)
      for (const byte of Buffer.from(reply, 'latin1')) this.#slowly(socket, byte);
    else socket.write(reply, 'latin1');
  }
}

/** Whether the command is a trial of the engine's rights. */
function isTrial([name, argument = '', keyCount]: readonly string[]): boolean {
  return name === 'EVALSHA' ? keyCount === '0' : argument.endsWith(':rights');
}

/** The usual reply to a command about data. */
function usualReply([name]: readonly string[]): string {
  if (name === 'ZRANGEBYSCORE' || name === 'HKEYS') return array([]);
  return name === 'HGET' || name === 'SET' ? NIL_REPLY : DONE;
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text, 'latin1')}\r\n${text}\r\n`;
}

export function array(items: readonly string[]): string {
  return `*${items.length}\r\n${items.join('')}`;
}
