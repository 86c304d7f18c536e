/**
 * A server for the engine on Redis or Valkey that does what a test says, over a real socket. It answers
 * what the engine asks about it, stores nothing, and notes each command that is about data.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { replyValue } from '../../../src/engine/redis/control-connection.ts';
import { ReplyReader } from '../../../src/engine/redis/reply.ts';

/** What a command is answered with: as it goes over the wire, a character a byte. */
export type FakeReply = string;

/** The reply to a command; undefined for the usual one, `SILENCE` for none, `CUT` to end the connection. */
export type Script = (words: readonly string[]) => FakeReply | undefined;

export const SILENCE = '';
export const CUT = 'cut';
export const OK = '+OK\r\n';
export const DONE = ':1\r\n';
export const NIL_REPLY = '$-1\r\n';

/** Commands that are not about data. */
const ASKED: Readonly<Record<string, (server: FakeServer, words: readonly string[]) => string>> = {
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
  /** Told first, but of trials of rights. */
  script: Script = () => undefined;
  /** Told of trials of rights: of scripts without keys, and of channels. */
  rights: Script = () => undefined;
  /** Whether it writes byte by byte. */
  isSlow = false;
  /** Commands about data, in the order in which they came, each with what it was answered. */
  readonly received: { readonly words: readonly string[]; readonly reply: FakeReply }[] = [];
  /** Connections that clients have reset. */
  resetCount = 0;
  /** How often it was asked for its role. */
  roleCount = 0;
  /** The command whose next reply is lost on the way. */
  #swallowed: string | undefined;
  /** The command whose next reply is late, and the connection on which replies are held. */
  #heldFrom: string | undefined;
  #held: Socket | undefined;
  #heldReplies: string[] = [];
  /** The port; 0 before the start. */
  port = 0;
  #slowed: Promise<void> = Promise.resolve();
  /** A connection on which a command has met silence: replies come in order, so nothing else does. */
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

  /** The commands that were done: answered, and with no error. */
  get done(): (readonly string[])[] {
    return this.received
      .filter(({ reply }) => reply !== SILENCE && reply !== CUT && !reply.startsWith('-'))
      .map(({ words }) => words);
  }

  /** Listens again, on the same port. */
  async listen(): Promise<void> {
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** The reply to send before the connection is ended. */
  cutAfter(reply: string): FakeReply {
    return reply === '' ? CUT : `${reply}${CUT}`;
  }

  /** The next reply to such a command is lost on the way. */
  swallowNext(command: string): void {
    this.#swallowed = command;
  }

  /** The next reply to such a command is late, as are those behind it on its connection: see `release`. */
  holdNext(command: string): void {
    this.#heldFrom = command;
  }

  /** Sends the replies that were held, in order. Returns their number. */
  release(): number {
    const replies = this.#heldReplies;
    this.#held?.write(replies.join(''), 'latin1');
    this.#held = undefined;
    this.#heldReplies = [];
    return replies.length;
  }

  /** Answers the command that was met with silence last. */
  answerLate(reply: FakeReply): void {
    if (this.#silent !== undefined) this.#silenced.delete(this.#silent);
    this.#silent?.write(reply);
  }

  /** Sends what no command has asked for, to those that subscribe. */
  tell(message: FakeReply): void {
    for (const socket of this.#subscribers) socket.write(message);
  }

  /** Ends one connection on which nothing is under way. */
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

  /** In a turn of its own, each byte is a piece of its own. */
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
      if (Array.isArray(words)) this.#answer(socket, words.map(String));
    });
    socket.on('data', (bytes) => reader.read(bytes, bytes.length));
  }

  #answer(socket: Socket, words: readonly string[]): void {
    const usual = ASKED[words[0] ?? ''];
    const isOfRights = isTrial(words);
    const told = isOfRights ? this.rights(words) : this.script(words);
    const reply = told ?? usual?.(this, words) ?? usualReply(words);
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

/** Whether the engine tries its rights with the command. */
function isTrial([name, argument = '', keyCount]: readonly string[]): boolean {
  return name === 'EVALSHA' ? keyCount === '0' : argument.endsWith(':rights');
}

/** To a command about data. */
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
