/**
 * One client connection: feeds what the socket brings to the parser, hands each request to the
 * handler, sends the answers in order, and ends the connection when it is time.
 *
 * Requests run one at a time. While one waits for its answer the connection goes on reading, so that
 * the client's going away is seen, and keeps the bytes that come; they run when it is answered.
 * Answers that the client does not take stop the reading. After the last answer the connection is
 * half-closed and what still comes is dropped for a while, so that no reset overtakes the answer.
 */
import type { Socket } from 'node:net';
import type { Timer } from '../base/clock.ts';
import { INDEPENDENT, type RequestHandler } from './application.ts';
import { Exchange, type ExchangeOwner } from './exchange.ts';
import { readInto } from './intake.ts';
import { CONNECT } from './methods.ts';
import { Outbox } from './outbox.ts';
import { AT_HEAD, AT_REQUEST, NEEDS_MORE, RequestParser } from './parser.ts';
import type { HttpServer } from './server.ts';

/**
 * The most that is kept of what a client sends behind a request that waits, in bytes: not more than
 * the parser takes at once.
 */
const BACKLOG_BYTES_MAX = 65536;
/** The most of an unwanted body that is read so that the connection can go on, in bytes. */
const DROPPED_BYTES_MAX = 1048576;
/** How long a half-closed connection is read, in milliseconds. */
export const LINGER_MS = 2000;
/** Requests are not run while more than this waits to be sent, or to be taken, in bytes. */
const UNSENT_BYTES_MAX = 1048576;

/** Requests are read and run. */
const READING = 0;
/** The request at hand waits for its answer. */
const WAITING = 1;
/** The client does not take its answers, or they may not leave yet. */
const STALLED = 2;
/** The last answer has been given; what comes is dropped. */
const ENDING = 3;
const CLOSED = 4;

export class Connection implements ExchangeOwner {
  readonly #server: HttpServer;
  readonly #socket: Socket;
  readonly #parser: RequestParser;
  readonly #outbox: Outbox;
  readonly #exchange: Exchange;
  readonly #handler: RequestHandler;
  #state = READING;
  /** Whether the request at hand has content that has not come whole. */
  #isBodyPending = false;
  /** Whether the answer given last ends the connection. */
  #isLast = false;
  /** Whether requests are being run: answers given meanwhile are sent at the end. */
  #isRunning = false;
  /** Whether the client has sent all that it will send. */
  hasInputEnded = false;
  /** Whether the connection ends as soon as no request is under way. */
  #isDrained = false;
  /** What came behind a request that waits. */
  #backlog: Buffer[] = [];
  #backlogBytes = 0;
  #linger: Timer | undefined;

  constructor(server: HttpServer, accepted: Socket) {
    this.#server = server;
    const socket = readInto(server.readBuffer, accepted, (bytes, length) => {
      this.#socketOnRead(bytes, length);
    });
    this.#socket = socket;
    this.#parser = new RequestParser(server.limits);
    this.#outbox = new Outbox(socket, server.arena, server, () => this.#send());
    this.#exchange = new Exchange(this.#parser.request, this.#outbox, server.arena, this);
    this.#handler = server.application.open(this.#exchange);
    socket.on('end', () => this.#socketOnEnd());
    socket.on('drain', () => this.#send());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#socketOnClose());
  }

  /** Whether an answer may wait for a condition. */
  get mayWait(): boolean {
    return !this.hasInputEnded && !this.#server.isDraining;
  }

  /** Whether answers wait for what they depend on. */
  get isHeld(): boolean {
    return this.#outbox.heldCount > 0;
  }

  /** Sends what may leave by now; goes on where answers stood in the way. */
  release(): void {
    this.#send();
  }

  /** No further request is awaited: a connection that is idle ends, others after their answers. */
  drain(): void {
    this.#isDrained = true;
    if (this.#state === WAITING) this.#handler.hurry();
    this.#send();
  }

  /** Cuts the connection off. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** The answer about to be written ends the connection where nothing more is to be read. */
  decideLast(): boolean {
    const { request } = this.#parser;
    const unread = this.#parser.hasRest || this.#backlogBytes > 0;
    this.#isLast =
      this.#isLast ||
      !request.keepAlive ||
      request.method === CONNECT ||
      (this.#isBodyPending &&
        (request.contentLength > DROPPED_BYTES_MAX || (request.expectsContinue && !unread))) ||
      (this.#server.isDraining && !unread);
    return this.#isLast;
  }

  onAnswered(status: number): void {
    const { body, refusal, request } = this.#parser;
    this.#server.observe?.(status, refusal === 0 ? request : undefined);
    if (this.#isBodyPending) body.drop();
    else if (request.hasBody) body.end();
    if (this.#isLast) this.#end();
    else if (this.#state === WAITING) this.#state = READING;
    if (!this.#isRunning) this.#proceed();
  }

  #socketOnRead(bytes: Buffer, length: number): void {
    this.#server.tick();
    if (this.#state === READING) {
      this.#parser.load(bytes, length);
      this.#proceed();
    } else if (this.#state === WAITING || this.#state === STALLED) this.#keep(bytes, 0, length);
  }

  #socketOnEnd(): void {
    this.hasInputEnded = true;
    if (this.#state === WAITING) this.#handler.hurry();
    else if (this.#state === READING) this.#proceed();
  }

  #socketOnClose(): void {
    const wasWaiting = this.#state === WAITING;
    this.#state = CLOSED;
    this.#linger?.cancel();
    if (wasWaiting) this.#handler.abandon();
    this.#outbox.drop();
    this.#parser.free();
    this.#server.onConnectionClosed(this);
  }

  /** Runs requests as long as there are any and nothing stands in the way; sends the answers. */
  #proceed(): void {
    this.#isRunning = true;
    do {
      if (this.#state === READING && this.#backlogBytes > 0) this.#loadBacklog();
      while (this.#state === READING && this.#step());
      if (this.#state === READING) this.#endIfDone();
    } while (this.#flush());
    this.#isRunning = false;
    this.#leaveInput();
  }

  /** Lets go of the bytes read; those that have not been run are kept, where they are to be. */
  #leaveInput(): void {
    const { rest } = this.#parser;
    if (rest.length > 0 && (this.#state === WAITING || this.#state === STALLED)) {
      this.#keep(rest.bytes, rest.start, rest.end);
    }
    this.#parser.load(NOTHING, 0);
  }

  /** Reads up to the next decision and takes it. False: the input is used up. */
  #step(): boolean {
    switch (this.#parser.next()) {
      case NEEDS_MORE:
        if (this.#isBodyPending) this.#checkBody();
        return false;
      case AT_HEAD:
        this.#onHead();
        return true;
      case AT_REQUEST:
        this.#onRequest();
        return true;
      default:
        this.#onRefusal(this.#parser.refusal);
        return true;
    }
  }

  /** Content is announced: it is asked for, or the request is refused and the content dropped. */
  #onHead(): void {
    this.#isBodyPending = true;
    if (!this.#admit()) return;
    if (this.#parser.request.expectsContinue && !this.#parser.hasRest) this.#exchange.invite();
  }

  #onRequest(): void {
    const { body } = this.#parser;
    if (this.#isBodyPending) {
      this.#isBodyPending = false;
      if (this.#exchange.isAnswered) return;
      if (body.isTooLong) return this.#exchange.respondEmpty(413, INDEPENDENT, 0);
    } else if (!this.#admit()) return;
    try {
      this.#handler.run();
    } catch (error) {
      this.#fail(error);
    }
    if (!this.#exchange.isAnswered) this.#state = WAITING;
    else if (this.#state === READING && this.#isFull) this.#stall();
  }

  #stall(): void {
    this.#state = STALLED;
    this.#socket.pause();
  }

  /** The bytes are no request: answered, unless the request they belong to has been, and the end. */
  #onRefusal(status: number): void {
    if (status === 0 || (this.#isBodyPending && this.#exchange.isAnswered)) return this.#end();
    this.#isLast = true;
    this.#exchange.isAnswered = false;
    this.#exchange.respondEmpty(status, INDEPENDENT, 0);
  }

  /** Whether the request at hand is to be run; otherwise it has been answered. */
  #admit(): boolean {
    const exchange = this.#exchange;
    exchange.isAnswered = false;
    this.#isLast = false;
    try {
      if (!this.#handler.admit()) return false;
    } catch (error) {
      this.#fail(error);
      return false;
    }
    const { request } = exchange;
    if (request.unknownExpectation !== '') {
      exchange.respondFailure(417, `Cannot meet Expect "${request.unknownExpectation}"`);
    } else if (request.contentLength > this.#server.limits.bodyBytesMax) {
      exchange.respondEmpty(413, INDEPENDENT, 0);
    } else if (request.contentEncoding !== '') {
      const message = `Cannot take Content-Encoding "${request.contentEncoding}": send it as it is`;
      exchange.respondFailure(415, message);
    }
    return !exchange.isAnswered;
  }

  /** Content is on its way: refused where it grows too long, the end where too much is unwanted. */
  #checkBody(): void {
    const { body } = this.#parser;
    if (body.isTooLong && !this.#exchange.isAnswered) {
      this.#exchange.respondEmpty(413, INDEPENDENT, 0);
    }
    if (this.#exchange.isAnswered && body.announced > DROPPED_BYTES_MAX) this.#end();
  }

  /** Everything that arrived whole has been run: the end, if nothing more is to come. */
  #endIfDone(): void {
    if (this.hasInputEnded && this.#parser.isInRequest) this.#onRefusal(400);
    else if (this.hasInputEnded || (this.#isDrained && !this.#parser.isInRequest)) this.#end();
  }

  /** The handler threw: a fault of ours. */
  #fail(error: unknown): void {
    this.#server.onFailure(error);
    this.#isLast = true;
    if (this.#exchange.isAnswered) this.#end();
    else this.#exchange.respondEmpty(500, INDEPENDENT, 0);
  }

  /** Whether as many answers as may wait to be sent do. */
  get #isFull(): boolean {
    return (
      this.#outbox.unsentBytes > UNSENT_BYTES_MAX ||
      this.#outbox.heldCount >= this.#server.limits.pipelineMax
    );
  }

  #send(): void {
    if (!this.#isRunning && this.#state !== CLOSED) this.#proceed();
  }

  /** Hands over what may leave. True: that made room for requests that stood back. */
  #flush(): boolean {
    this.#outbox.flush();
    this.#server.setHeld(this, this.isHeld);
    if (this.#state === ENDING && this.#outbox.isEmpty && !this.#socket.writableEnded) {
      this.#socket.end(() => this.#lingerOn());
    }
    if (this.#state === READING && this.#socket.writableLength > UNSENT_BYTES_MAX) this.#stall();
    if (this.#state !== STALLED || this.#isFull) return false;
    if (this.#socket.writableLength > UNSENT_BYTES_MAX) return false;
    this.#state = READING;
    this.#socket.resume();
    return true;
  }

  #end(): void {
    this.#state = ENDING;
    this.#backlog = [];
    this.#backlogBytes = 0;
  }

  #lingerOn(): void {
    if (this.#state === CLOSED) return;
    this.#linger = this.#server.clock.after(LINGER_MS, () => this.#socket.destroy());
  }

  /** Keeps bytes behind a request that waits; too many, and the connection is closed. */
  #keep(bytes: Buffer, start: number, end: number): void {
    this.#backlogBytes += end - start;
    if (this.#backlogBytes > BACKLOG_BYTES_MAX) this.destroy();
    else this.#backlog.push(Buffer.from(bytes.subarray(start, end)));
  }

  #loadBacklog(): void {
    const [first] = this.#backlog;
    const bytes = this.#backlog.length === 1 && first ? first : Buffer.concat(this.#backlog);
    this.#backlog = [];
    this.#backlogBytes = 0;
    this.#parser.load(bytes, bytes.length);
  }
}

const NOTHING = Buffer.alloc(0);
