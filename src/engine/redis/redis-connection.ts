/**
 * A connection to a server of Redis or Valkey. The commands of a turn leave in one write, or those of two
 * turns where they are few and the server owes replies; the replies come in the same order. A server that
 * owes a reply for longer than the deadline is given up, as a stopped one keeps its socket open. A
 * connection that has ended is not used again, and nothing is sent twice: each receiver is told whether
 * its command may have reached the server.
 */
import assert from 'node:assert/strict';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import type { Clock, Timer } from '../../base/clock.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import { ViewedBytes } from '../../base/short-copies.ts';
import { CommandBuffer, header, isReusable } from './command-buffer.ts';
import { Confirmations } from './confirmations.ts';
import { firstWord } from './error-reply.ts';
import { PendingCommands, type ReplyReceiver } from './pending-commands.ts';
import { ARRAY, ERROR, kindSet, type Reply, ReplyReader, STATUS } from './reply.ts';

/** The commands of a turn share a buffer until all are answered. */
interface Batch {
  readonly memory: ViewedBytes;
  readonly length: number;
  /** The number of the first command behind them. */
  readonly end: number;
}

export interface Login {
  /** Undefined for the default user. */
  readonly user: string | undefined;
  /** Undefined where none is asked for. */
  readonly password: string | undefined;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly login: Login;
  /** Undefined for a connection without TLS. */
  readonly tls: TlsOptions | undefined;
  /** A reply that takes longer ends the connection; ms. */
  readonly deadlineMs: number;
  /** Connections that stand or are being made are counted here. */
  readonly counter: { count: number };
  /** Asked when commands that change data are written: they are not where it says no. */
  mayChange(): boolean;
}

interface ConnectionObserver {
  /** The server takes commands. */
  onReady(): void;
  /** The connection has ended; its receivers are told next. Not called after `end`. */
  onEnded(reason: Error): void;
  /** A message that no command has asked for, on a connection that subscribes; at its first node. */
  onMessage?(message: Reply): void;
}

/** The server does not let this member in: a wrong password, for example. */
export class LoginRefused extends Error {}
/** A reply that its command cannot have: one was lost or doubled on the way, or another one came. */
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
/** How a server begins that lets nobody in so; what else it replies may pass. */
const REFUSALS = ['WRONGPASS', 'NOAUTH', 'NOPERM', 'DENIED'];
const STATUSES = kindSet(STATUS);
/** Codes of errors that a peer without TLS, or with it, causes; those of certificates are not among them. */
const OF_NO_TLS = /^(?:ECONNRESET|EPIPE|EPROTO|ERR_SSL_.*)$/;
const EXPECTS_TLS = 'the port may expect TLS, which an engine URL of rediss:// uses';
const EXPECTS_PLAIN = 'the port may expect no TLS, which an engine URL of redis:// does not use';
const READ_BUFFER_BYTES = 65536;
/** A connection that does not stand by then is given up: a new one gets through a healed network sooner. */
const CONNECT_MS_MAX = 2000;
/** Turns whose commands are under way at a time, as a rule. */
const SPARES_MAX = 4;
/** Fewer commands wait a turn for others, where the server is at work: a write costs as much as ten. */
const WRITTEN_MIN = 32;
/** How often the deadline is looked at within its time. */
const LOOKS = 8;
/** The part of the deadline that a WAIT may take. */
const CONFIRMED_WITHIN = 0.8;

export class RedisConnection {
  readonly address: ServerAddress;
  /** Whether commands may be written. */
  isReady = false;
  /** Where the next command is written, before `expect`. */
  readonly commands = new CommandBuffer();
  /** Whether there are changes of data among the commands of the turn. */
  hasChanges = false;
  /** Waits for replicas to have the changes written. */
  readonly confirmations: Confirmations;
  readonly #options: ConnectionOptions;
  readonly #observer: ConnectionObserver;
  readonly #onMessage: ((message: Reply) => void) | undefined;
  /** Of TCP, which carries TLS where that is used. */
  readonly #carrier: Socket;
  /** What is read and written. */
  #socket: Socket;
  /** TLS begins when the carrier is connected; nothing is written before. */
  #isTlsDue = false;
  readonly #reader: ReplyReader;
  readonly #pending = new PendingCommands();
  readonly #batches: Batch[] = [];
  /** Buffers for the commands of later turns. */
  readonly #spares: ViewedBytes[] = [];
  /** The commands of a turn that are not written, while their receivers are told. */
  #dropped: ViewedBytes | undefined;
  #isFlushDue = false;
  /** Whether the commands have waited a turn. */
  #isPutOff = false;
  /** Called before the commands of the turn are written. */
  #last: (() => void)[] = [];
  /** The time of the turn in which commands gather, on the clock's `now`. */
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
    this.#carrier = this.#socket = this.#connect();
    options.counter.count++;
    this.#carrier.setNoDelay(true);
    this.#watchEnd(this.#carrier);
    this.#watch();
    this.#logIn();
  }

  /** Commands whose reply has not come. */
  get pendingCount(): number {
    return this.#pending.count;
  }

  /** When the oldest of them was given, on the clock's `now`; undefined where there is none. */
  get owesSince(): number | undefined {
    return this.#pending.oldest;
  }

  /** Bytes of commands that are not answered, and of the reply under way. */
  get waitingBytes(): number {
    let bytes = this.commands.length + this.#reader.keptBytes;
    for (const batch of this.#batches) bytes += batch.length;
    return bytes;
  }

  /** The command in `commands` from `start` on is whole; its reply goes to the receiver. */
  expect(start: number, receiver: ReplyReceiver): void {
    if (this.#isEnded) assert.fail('no command to a connection that has ended');
    if (!this.#isFlushDue) this.#beginTurn();
    this.#pending.push(receiver, start, this.commands.length, this.#now);
  }

  /** Calls `run` before the commands of the turn are written, also where the connection has ended. */
  beforeWrite(run: () => void): void {
    this.#last.push(run);
    if (!this.#isFlushDue) this.#beginTurn();
  }

  /** When the command was given whose receiver is being called, on the clock's `now`. */
  get lastTime(): number {
    return this.#pending.lastTime;
  }

  #beginTurn(): void {
    this.#isFlushDue = true;
    this.#now = this.#options.clock.now();
    this.#options.clock.endOfTurn(this.#flush);
  }

  /** A copy of the command whose receiver is being called, to send it elsewhere. */
  copyCommand(): Buffer {
    const { number, start, end } = this.#pending.last;
    if (this.#dropped !== undefined) return Buffer.from(this.#dropped.bytes.subarray(start, end));
    const [batch] = this.#batches;
    if (batch === undefined || number >= batch.end) return this.commands.copy(start, end);
    return Buffer.from(batch.memory.bytes.subarray(start, end));
  }

  /** The receiver of the present reply goes on using the bytes of a long value. */
  keepBytes(): void {
    this.#reader.give();
  }

  /** Ends the connection; the receivers are told during the call. */
  end(): void {
    this.#end(undefined);
  }

  /** Ends the connection, which is of no use for that reason; the observer is told, too. */
  fail(reason: Error): void {
    this.#end(reason);
  }

  #connect(): Socket {
    const { host, port } = this.address;
    const { tls } = this.#options;
    if (tls !== undefined) {
      const carrier = connectPlain({ host, port });
      this.#isTlsDue = true;
      carrier.once('connect', () => this.#beginTls(carrier, tls));
      return carrier;
    }
    const { bytes: buffer, view } = new ViewedBytes(READ_BUFFER_BYTES);
    const callback = (count: number): boolean => {
      this.#read(buffer, count, view);
      return true;
    };
    return connectPlain({ host, port, onread: { buffer, callback } });
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

  #watchEnd(socket: Socket): void {
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the server has closed the connection')));
  }

  /** What is written now leaves when the connection stands; a login first, alone. */
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

  /** All commands of the batch are answered. */
  #drop({ memory }: Batch): void {
    this.#batches.shift();
    if (isReusable(memory) && this.#spares.length < SPARES_MAX) this.#spares.push(memory);
  }

  #write(): void {
    if (this.#isTlsDue) return;
    if (!this.#isPutOff && this.#mayGather()) {
      this.#isPutOff = true;
      this.#options.clock.endOfTurn(this.#flush);
      return;
    }
    this.#isPutOff = false;
    const last = this.#last;
    if (last.length > 0) this.#last = [];
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

  /** Whether the commands are to wait for those of the next turn. */
  #mayGather(): boolean {
    const written = this.#batches.at(-1)?.end;
    if (written === undefined || this.#isEnded) return false;
    return this.#pending.tail - written < WRITTEN_MIN;
  }

  /** No command of the turn is written. Those that change nothing come again. */
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
    this.#deadline = clock.after(Math.ceil(deadlineMs / LOOKS), () => {
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
    // The system would go on sending what the socket holds, also after this member has lost its lease.
    if (this.#pending.count > 0 && !this.#carrier.connecting) this.#carrier.resetAndDestroy();
    this.#socket.destroy();
    this.#carrier.destroy();
    // The observer first: what a receiver calls in turn must not come to this connection any more.
    if (reason !== undefined) this.#observer.onEnded(this.#explained(reason));
    this.#loseAll();
  }

  /** The reason, with the usual cause where a server has let nobody in and has not said why. */
  #explained(reason: Error): Error {
    if (this.#pending.head > 0 || this.#carrier.connecting) return reason;
    const { tls } = this.#options;
    const code = (reason as NodeJS.ErrnoException).code ?? '';
    const isCut = code === '' || OF_NO_TLS.test(code);
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

/** Whether the reply is none, but a message of a channel; it is at its first node afterwards. */
function isMessage(reply: Reply): boolean {
  if (reply.kind !== ARRAY || reply.integer === 0) return false;
  const isOne = MESSAGES.includes(reply.next().text);
  reply.begin();
  return isOne;
}

/** Why the server does not take commands; undefined where it does. */
function loginFault(text: string): Error | undefined {
  const word = firstWord(text);
  if (REFUSALS.includes(word) || /^ERR .*\bAUTH\b/.test(text)) return new LoginRefused(text);
  return word === 'ERR' ? new Error(text) : undefined;
}

function isName(host: string): boolean {
  return !/^[\d.]+$|:/.test(host);
}
