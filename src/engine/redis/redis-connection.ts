/**
 * A connection to a Redis or Valkey server. The commands of a turn are sent in one write, or those
 * of two turns if they are few and the server owes replies; the replies are received in the same
 * order. A connection whose reply is overdue ends, as a stopped server keeps its socket open. An
 * ended connection is not used again and no command is sent twice: each receiver is notified
 * whether its command may have reached the server.
 */
import assert from 'node:assert/strict';
import { connect as connectPlain, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import type { Clock, Timer } from '../../base/clock.ts';
import { ViewedBytes } from '../../base/copy-bytes.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import { CommandBuffer, header, isReusable } from './command-buffer.ts';
import { Confirmations } from './confirmations.ts';
import { firstWord } from './error-reply.ts';
import { PendingCommands, type ReplyReceiver } from './pending-commands.ts';
import { ARRAY, ERROR, kindSet, type Reply, ReplyReader, STATUS } from './reply.ts';

/** The commands of a turn. They share a buffer until all have replies. */
interface Batch {
  readonly memory: ViewedBytes;
  readonly length: number;
  /** Number of the first command after the batch. */
  readonly end: number;
}

export interface Login {
  /** Undefined for the default user. */
  readonly user: string | undefined;
  /** Undefined if the server requires no password. */
  readonly password: string | undefined;
}

/** The part of a TCP socket that a connection uses. */
interface TcpSocket {
  readonly connecting: boolean;
  setNoDelay(isSet: boolean): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  write(bytes: Buffer): unknown;
  destroy(): unknown;
  resetAndDestroy(): unknown;
}

interface SocketOptions extends ServerAddress {
  /** The buffer that received bytes are written to, and the function called with their number. */
  readonly onread: OnReadOpts & { readonly buffer: Buffer };
}

export interface ConnectionOptions {
  readonly clock: Clock;
  /** Opens the socket of a connection without TLS: that of Node, or an in-memory one of specs. */
  readonly connectTcp?: ((options: SocketOptions) => TcpSocket) | undefined;
  readonly login: Login;
  /** Undefined for a connection without TLS. */
  readonly tls: TlsOptions | undefined;
  /** Time after which a missing reply ends the connection, in ms. */
  readonly deadlineMs: number;
  /** Counts the connections that are open or being established. */
  readonly counter: { count: number };
  /** Called before commands that change data are written. If it returns false, they are not. */
  mayChange(): boolean;
}

interface ConnectionObserver {
  /** Called when the server accepts commands. */
  onReady(): void;
  /** Called when the connection has ended, before its receivers. Not called after `end`. */
  onEnded(reason: Error): void;
  /**
   * Called for a message that is not a reply, on a connection that subscribes. The message is at
   * its first node.
   */
  onMessage?(message: Reply): void;
}

/** The server has refused the login: for example, because of a wrong password. */
export class LoginRefused extends Error {}
/**
 * A reply of a kind that its command cannot have: a reply was lost or duplicated, or an unrelated
 * one was received.
 */
export class OutOfStep extends Error {
  constructor() {
    super('its replies do not match the commands');
  }
}
/** The server has owed a reply for longer than the deadline. */
export class NoReply extends Error {}

const AUTH_USER = header(3, 'AUTH');
const AUTH = header(2, 'AUTH');
const PING = header(1, 'PING');
/** Codes of errors that refuse a login. After other errors a later login may succeed. */
const REFUSALS = ['WRONGPASS', 'NOAUTH', 'NOPERM', 'DENIED'];
const STATUSES = kindSet(STATUS);
/**
 * Codes of errors caused by a peer that unexpectedly uses, or does not use, TLS. Errors of
 * certificates are excluded.
 */
const TLS_MISMATCH = /^(?:ECONNRESET|EPIPE|EPROTO|ERR_SSL_.*)$/;
const EXPECTS_TLS = 'the port may require TLS: use an engine URL with rediss://';
const EXPECTS_PLAIN = 'the port may not use TLS: use an engine URL with redis://';
const READ_BUFFER_BYTES = 65536;
/**
 * Time after which an attempt to connect is abandoned, in ms. A new attempt gets through a repaired
 * network sooner.
 */
const CONNECT_MS_MAX = 2000;
/** Maximum number of spare buffers: the usual number of turns whose commands are pending. */
const SPARES_MAX = 4;
/**
 * Fewer commands than this wait one turn for others if the server owes replies: a write costs as
 * much as ten commands.
 */
const WRITTEN_MIN = 32;
/** Number of times that the deadline is checked before it passes. */
const CHECKS = 8;
/** The fraction of the deadline that a WAIT may take. */
const CONFIRMED_WITHIN = 0.8;

export class RedisConnection {
  readonly address: ServerAddress;
  /** Whether commands may be written. */
  isReady = false;
  /** The buffer that the next command is written to, before `expect`. */
  readonly commands = new CommandBuffer();
  /** Whether the commands of the turn include changes of data. */
  hasChanges = false;
  /** Waits for replicas to confirm the changes. */
  readonly confirmations: Confirmations;
  readonly #options: ConnectionOptions;
  readonly #observer: ConnectionObserver;
  readonly #onMessage: ((message: Reply) => void) | undefined;
  /** The TCP socket, which carries TLS if that is used. */
  readonly #tcpSocket: TcpSocket;
  /** The socket that is read and written. */
  #socket: TcpSocket;
  /** Whether TLS must begin once the TCP socket is connected; nothing is written before. */
  #isTlsDue = false;
  readonly #reader: ReplyReader;
  readonly #pending = new PendingCommands();
  readonly #batches: Batch[] = [];
  /** Buffers for the commands of later turns. */
  readonly #spares: ViewedBytes[] = [];
  /** The commands of a turn that are not written, while their receivers are notified. */
  #dropped: ViewedBytes | undefined;
  #isFlushDue = false;
  /** Whether the commands have already waited one turn. */
  #hasWaited = false;
  /** Callbacks that run before the commands of the turn are written. */
  #beforeWrites: (() => void)[] = [];
  /** Start of the turn whose commands are collected, by `clock.now()`. */
  #now = 0;
  #deadline: Timer | undefined;
  #isEnded = false;
  readonly #flush = () => this.#write();

  constructor(address: ServerAddress, options: ConnectionOptions, observer: ConnectionObserver) {
    this.address = address;
    this.#options = options;
    this.#observer = observer;
    this.#onMessage = observer.onMessage?.bind(observer);
    this.confirmations = new Confirmations(Math.ceil(options.deadlineMs * CONFIRMED_WITHIN));
    this.#reader = new ReplyReader((reply) => this.#receive(reply));
    this.#tcpSocket = this.#socket = this.#connect();
    options.counter.count++;
    this.#tcpSocket.setNoDelay(true);
    this.#watchEnd(this.#tcpSocket);
    this.#watch();
    this.#logIn();
  }

  /** Commands without a reply. */
  get pendingCount(): number {
    return this.#pending.count;
  }

  /** Time at which the oldest of them was added, by `clock.now()`; undefined if there is none. */
  get owesSince(): number | undefined {
    return this.#pending.oldest;
  }

  /** Bytes of commands without a reply, and of the reply that is being received. */
  get waitingBytes(): number {
    let bytes = this.commands.length + this.#reader.partialBytes;
    for (const batch of this.#batches) bytes += batch.length;
    return bytes;
  }

  /** Ends the command that begins at `start` in `commands`. Its reply is passed to the receiver. */
  expect(start: number, receiver: ReplyReceiver): void {
    if (this.#isEnded) assert.fail('a command was written to a connection that has ended');
    if (!this.#isFlushDue) this.#beginTurn();
    this.#pending.push(receiver, start, this.commands.length, this.#now);
  }

  /** Calls `run` before the commands of the turn are written, even if the connection has ended. */
  beforeWrite(run: () => void): void {
    this.#beforeWrites.push(run);
    if (!this.#isFlushDue) this.#beginTurn();
  }

  /** Time at which the command of the receiver being called was added, by `clock.now()`. */
  get lastTime(): number {
    return this.#pending.lastTime;
  }

  #beginTurn(): void {
    this.#isFlushDue = true;
    this.#now = this.#options.clock.turn();
    this.#options.clock.endOfTurn(this.#flush);
  }

  /** Copies the command of the receiver being called, to send it elsewhere. */
  copyCommand(): Buffer {
    const { number, start, end } = this.#pending.last;
    if (this.#dropped !== undefined) return Buffer.from(this.#dropped.bytes.subarray(start, end));
    const [batch] = this.#batches;
    if (batch === undefined || number >= batch.end) return this.commands.copy(start, end);
    return Buffer.from(batch.memory.bytes.subarray(start, end));
  }

  /**
   * Called by the receiver of the current reply if it uses the bytes of a long value after the
   * call.
   */
  retainBytes(): void {
    this.#reader.retainBytes();
  }

  /** Ends the connection. The receivers are notified during the call. */
  end(): void {
    this.#end(undefined);
  }

  /** Ends the connection because of `reason`. The observer is also notified. */
  fail(reason: Error): void {
    this.#end(reason);
  }

  #connect(): TcpSocket {
    const { host, port } = this.address;
    const { tls, connectTcp = connectPlain } = this.#options;
    if (tls !== undefined) {
      const tcpSocket = connectPlain({ host, port });
      this.#isTlsDue = true;
      tcpSocket.once('connect', () => this.#beginTls(tcpSocket, tls));
      return tcpSocket;
    }
    const { bytes: buffer, view } = new ViewedBytes(READ_BUFFER_BYTES);
    const callback = (count: number): boolean => {
      this.#read(buffer, count, view);
      return true;
    };
    return connectTcp({ host, port, onread: { buffer, callback } });
  }

  #beginTls(socket: Socket, tls: TlsOptions): void {
    if (this.#isEnded) return;
    const { host } = this.address;
    const made = connectTls({ servername: isName(host) ? host : '', ...tls, host, socket });
    made.on('data', (bytes) => this.#read(bytes, bytes.length));
    this.#watchEnd(made);
    this.#socket = made;
    this.#isTlsDue = false;
    if (this.#isFlushDue) this.#write();
  }

  #watchEnd(socket: TcpSocket): void {
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the server has closed the connection')));
  }

  /**
   * Adds the first command: a login, or a PING. It is sent when the connection is established.
   */
  #logIn(): void {
    const { user, password } = this.#options.login;
    const start = this.commands.length;
    if (password === undefined && user === undefined) this.commands.begin(PING);
    else {
      this.commands.begin(user === undefined ? AUTH : AUTH_USER);
      if (user !== undefined) this.commands.bytes(Buffer.from(user));
      this.commands.bytes(Buffer.from(password ?? ''));
    }
    this.expect(start, {
      replyKinds: STATUSES,
      onReply: (reply) => {
        const fault = reply.kind === ERROR ? loginFault(reply.text) : undefined;
        if (fault !== undefined) return this.#end(fault);
        this.isReady = true;
        this.#observer.onReady();
      },
      onLost: () => {},
    });
  }

  #read(bytes: Buffer, length: number, view?: DataView): void {
    if (this.#isEnded) return;
    try {
      this.#reader.read(bytes, length, view);
    } catch (error) {
      this.#end(error as Error);
    }
  }

  #receive(reply: Reply): void {
    if (this.#onMessage !== undefined && isMessage(reply)) return this.#onMessage(reply);
    const receiver = this.#pending.shiftFor(reply);
    if (receiver === undefined) return this.#end(new OutOfStep());
    receiver.onReply(reply);
    if (this.confirmations.isDue && !this.#isFlushDue && !this.#isEnded) this.#beginTurn();
    const batch = this.#batches[0];
    if (batch !== undefined && this.#pending.head >= batch.end) this.#drop(batch);
  }

  /** Releases the buffer of a batch whose commands all have replies. */
  #drop({ memory }: Batch): void {
    this.#batches.shift();
    if (isReusable(memory) && this.#spares.length < SPARES_MAX) this.#spares.push(memory);
  }

  #write(): void {
    if (this.#isTlsDue) return;
    if (!this.#hasWaited && this.#shouldWait()) {
      this.#hasWaited = true;
      this.#options.clock.endOfTurn(this.#flush);
      return;
    }
    this.#hasWaited = false;
    const last = this.#beforeWrites;
    if (last.length > 0) this.#beforeWrites = [];
    for (const run of last) run();
    this.#isFlushDue = false;
    if (this.#isEnded) return;
    if (this.hasChanges && !this.#options.mayChange()) return this.#dropTurn();
    this.hasChanges = false;
    if (this.confirmations.isDue) this.#writeWait();
    const { length } = this.commands;
    if (length === 0) return;
    const memory = this.commands.take(this.#spares.pop());
    this.#batches.push({ memory, length, end: this.#pending.tail });
    this.#socket.write(memory.bytes.subarray(0, length));
  }

  /** Whether the commands should wait for the commands of the next turn. */
  #shouldWait(): boolean {
    const written = this.#batches.at(-1)?.end;
    if (written === undefined || this.#isEnded) return false;
    return this.#pending.tail - written < WRITTEN_MIN;
  }

  /** Drops the commands of the turn. Those that change no data are sent again. */
  #dropTurn(): void {
    this.hasChanges = false;
    const written = this.#batches.at(-1)?.end ?? this.#pending.head;
    this.#dropped = this.commands.take(undefined);
    this.#pending.drop(written, (receiver) => receiver.onLost(false));
    this.#dropped = undefined;
    if (this.confirmations.isDue && !this.#isFlushDue) this.#beginTurn();
  }

  #writeWait(): void {
    const start = this.commands.length;
    this.confirmations.write(this.commands);
    this.#pending.push(this.confirmations, start, this.commands.length, this.#now);
  }

  #watch(): void {
    const { clock, deadlineMs } = this.#options;
    this.#deadline = clock.after(Math.ceil(deadlineMs / CHECKS), () => {
      const since = this.#pending.oldest;
      const allowedMs = this.isReady ? deadlineMs : Math.min(deadlineMs, CONNECT_MS_MAX);
      if (since !== undefined && clock.now() - since > allowedMs) {
        return this.#end(new NoReply(`no reply within ${allowedMs} ms`));
      }
      this.#watch();
    });
  }

  #end(reason: Error | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.isReady = false;
    this.#options.counter.count--;
    this.#deadline?.cancel();
    this.#reader.end();
    // Otherwise the kernel would send the socket's buffered data, even after this member has lost
    // its lease.
    if (this.#pending.count > 0 && !this.#tcpSocket.connecting) this.#tcpSocket.resetAndDestroy();
    this.#socket.destroy();
    this.#tcpSocket.destroy();
    // The observer is called first, so that no receiver uses this connection again.
    if (reason !== undefined) this.#observer.onEnded(this.#explained(reason));
    this.#loseAll();
  }

  /**
   * Adds the usual cause to the reason if the server ended the connection without explanation
   * before the login.
   */
  #explained(reason: Error): Error {
    if (this.#pending.head > 0 || this.#tcpSocket.connecting) return reason;
    const { tls } = this.#options;
    const code = (reason as NodeJS.ErrnoException).code ?? '';
    const isCut = code === '' || TLS_MISMATCH.test(code);
    if (!isCut || (tls === undefined && reason instanceof NoReply)) return reason;
    const hint = tls === undefined ? EXPECTS_TLS : EXPECTS_PLAIN;
    const text = `${reason.message}; ${hint}`;
    return reason instanceof NoReply ? new NoReply(text) : new Error(text, { cause: reason });
  }

  #loseAll(): void {
    for (let receiver = this.#pending.shift(); receiver; receiver = this.#pending.shift()) {
      const { number } = this.#pending.last;
      while (this.#batches[0] !== undefined && number >= this.#batches[0].end)
        this.#batches.shift();
      receiver.onLost(this.#batches.length > 0);
    }
    this.#batches.length = 0;
    this.commands.clear();
    this.confirmations.end();
  }
}

const MESSAGES = ['message', 'smessage', 'sunsubscribe'];

/** Whether the reply is in fact a message of a channel. Leaves it at its first node. */
function isMessage(reply: Reply): boolean {
  if (reply.kind !== ARRAY || reply.integer === 0) return false;
  const isOne = MESSAGES.includes(reply.next().text);
  reply.begin();
  return isOne;
}

/** Returns why the server does not accept commands, or undefined if it does. */
function loginFault(text: string): Error | undefined {
  const word = firstWord(text);
  if (REFUSALS.includes(word) || /^ERR .*\bAUTH\b/.test(text)) return new LoginRefused(text);
  return word === 'ERR' ? new Error(text) : undefined;
}

function isName(host: string): boolean {
  return !/^[\d.]+$|:/.test(host);
}
