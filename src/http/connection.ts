/**
 * One client connection: feeds what the socket brings to the parser, hands each request to the
 * handler, sends the answers in order, and ends the connection when it is time.
 *
 * Requests run one at a time. Behind one that waits for its answer the bytes that come are kept; they
 * run when it is answered. Where it waits for an item the connection goes on reading, so that the
 * client's going away is seen, and ends where too much comes; behind any other, reading pauses. So it
 * does while the client does not take its answers. While the server drains, the last request that has
 * come runs when the socket has been read once more: where more comes, its answer is not the last.
 * After the last answer the connection is
 * half-closed and what still comes is dropped for a while, so that no reset overtakes the answer.
 *
 * At the end of each piece of work the connection says what it waits for: its time limits follow.
 */
import type { Socket } from 'node:net';
import type { RequestHandler } from './application.ts';
import { Backlog } from './backlog.ts';
import type { BodyOwner } from './body.ts';
import type { Timed } from './deadlines.ts';
import { Exchange, type ExchangeOwner } from './exchange.ts';
import { readInto } from './intake.ts';
import { Outbox } from './outbox.ts';
import { AT_HEAD, AT_REQUEST, NEEDS_MORE, RequestParser } from './parser.ts';
import { CROWDED_OUT, CUT_OFF, type Verdict } from './refusals.ts';
import { RequestAtHand } from './request-at-hand.ts';
import type { HttpServer } from './server.ts';
import * as time from './time-limits.ts';
import { REQUESTS_IN_A_ROW, type Taker } from './turns.ts';

/** Requests are not run while more than this waits to be sent, in bytes; less in a crowd. */
const UNSENT_BYTES_MAX = 1048576;
const UNSENT_BYTES_CROWD = 65536;

// States. In READING requests are read and run; in WAITING the one at hand waits for its answer.
const READING = 0;
const WAITING = 1;
/** The client does not take its answers, they may not leave yet, or others are to run first. */
const STALLED = 2;
/** The server drains; the socket is read once more before the last request that has come is run. */
const LOOKING = 3;
/** The last answer has been given; what comes is dropped. */
const ENDING = 4;
/** So it is, and the connection is half-closed from here. */
const LINGERING = 5;
const CLOSED = 6;

export class Connection implements ExchangeOwner, BodyOwner, Timed, Taker {
  readonly #server: HttpServer;
  readonly #socket: Socket;
  readonly #parser: RequestParser;
  readonly #outbox: Outbox;
  readonly #exchange: Exchange;
  readonly #handler: RequestHandler;
  readonly #current: RequestAtHand;
  readonly #limits: time.TimeLimits;
  /** What came behind a request that waits. */
  readonly #backlog = new Backlog();
  #state = READING;
  /** Whether the request that waits does so for an item. */
  #isForItem = false;
  /** Whether the socket is paused. */
  #isPaused = false;
  /** Requests run in a row. */
  #runCount = 0;
  /** Whether others are to run first. */
  #standsBack = false;
  /** Whether requests are being run: answers given meanwhile are sent at the end. */
  #isRunning = false;
  hasInputEnded = false;
  /** Kept by the server: whether it tells when more answers may leave. */
  isHeld = false;
  /** Asked for at the beginning: a client that has gone has none. */
  readonly peerAddress: string;
  /** Whether a request has come, or a part of it, since the limits were told. */
  #hasMoved = false;
  /** Bytes of content that had come when the limits were told. */
  #movedBytes = 0;

  constructor(server: HttpServer, accepted: Socket) {
    this.#server = server;
    const socket = readInto(server.readBuffer, accepted, (bytes, length) => {
      this.#socketOnRead(bytes, length);
    });
    this.#socket = socket;
    this.peerAddress = socket.remoteAddress ?? '';
    this.#parser = new RequestParser(server.limits, server.inFlight);
    this.#outbox = new Outbox(socket, server, this);
    this.#exchange = new Exchange(this.#parser.request, this.#outbox, server.arena, this);
    const handler = server.application.open(this.#exchange);
    this.#handler = handler;
    this.#current = new RequestAtHand(server, this.#parser, this.#exchange, handler, this);
    server.tick();
    this.#limits = new time.TimeLimits(server, this);
    socket.on('end', () => this.#socketOnEnd());
    socket.on('drain', () => this.release());
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.#socketOnClose());
  }

  get mayWait(): boolean {
    return !this.hasInputEnded && !this.#server.isDraining;
  }

  /** Sends what may leave by now; goes on where answers stood in the way. */
  release(): void {
    this.#server.tick();
    if (!this.#isRunning && this.#state !== CLOSED) this.#proceed();
  }

  /** The server drains: a connection that is idle ends, others with their next answer. */
  drain(): void {
    this.#limits.shorten();
    if (this.#state === WAITING) this.#handler.hurry();
    this.release();
    if (this.#state === READING) this.onDeadline();
  }

  /** The connection ends here and now: what waits is not answered any more. */
  destroy(): void {
    this.#abandon();
    this.#state = CLOSED;
    this.#socket.destroy();
  }

  onItemAwaited(): void {
    this.#isForItem = true;
    this.#parser.body.end();
    // Behind a login as much may have been read as no poll may have behind it.
    if (this.#state !== WAITING) return;
    if (this.#hasTooMuchBehind) this.destroy();
    else this.#pauseOrResume();
  }

  /** The answer about to be written ends the connection where nothing more is to be read. */
  decideLast(): boolean {
    if (this.#state === WAITING) this.#server.tick();
    return this.#current.decideLast(this.#hasUnread);
  }

  onAnswered(status: number): void {
    this.#current.onAnswered(status);
    if (this.#state === WAITING) {
      this.#state = READING;
      this.#isForItem = false;
    }
    if (this.#current.isLast) this.#end();
    if (!this.#isRunning) this.#proceed();
  }

  onCrowdedOut(): void {
    this.#onLate(CROWDED_OUT);
  }

  onDeadline(): void {
    this.#server.tick();
    this.#tellLimits();
    if (!this.#limits.check()) return;
    if (this.#limits.isReaderLate || this.#state === LINGERING) this.destroy();
    else this.#onLate(this.#limits.lateness);
  }

  takeTurn(): void {
    this.#standsBack = false;
    this.release();
  }

  #socketOnRead(bytes: Buffer, length: number): void {
    this.#server.tick();
    if (this.#state === READING) {
      this.#parser.load(bytes, length);
      this.#proceed();
    } else if (this.#state <= LOOKING) this.#keep(bytes, 0, length);
  }

  #socketOnEnd(): void {
    this.#server.tick();
    this.hasInputEnded = true;
    if (this.#state === WAITING) this.#handler.hurry();
    else if (this.#state === READING) this.#proceed();
  }

  #socketOnClose(): void {
    this.#abandon();
    this.#state = CLOSED;
    this.#limits.leave();
    this.#backlog.clear();
    this.#outbox.drop();
    this.#parser.free();
    this.#server.onConnectionClosed(this);
  }

  /** Runs requests as long as there are any and nothing stands in the way; sends the answers. */
  #proceed(): void {
    this.#isRunning = true;
    this.#runCount = 0;
    do {
      if (this.#state === READING && this.#backlog.bytes > 0) {
        const bytes = this.#backlog.take();
        this.#parser.load(bytes, bytes.length);
      }
      while (this.#state === READING && this.#step());
      if (this.#state === READING) this.#endIfDone();
    } while (this.#flush());
    this.#isRunning = false;
    this.#leaveInput();
    if (this.#state === CLOSED) return;
    this.#pauseOrResume();
    this.#tellLimits();
  }

  /** Says what is waited for from now on. */
  #tellLimits(): void {
    const { received } = this.#parser.body;
    const { isSending } = this.#outbox;
    this.#limits.sends(isSending, isSending ? this.#outbox.takenBytes : 0);
    this.#limits.await(this.#awaited(isSending), this.#hasMoved || received !== this.#movedBytes);
    this.#hasMoved = false;
    this.#movedBytes = received;
  }

  /** Only what the client owes counts: nothing while something of ours stands in its way. */
  #awaited(isSending: boolean): time.Awaited {
    if (this.#state === LINGERING) return time.END;
    if (this.#state !== READING) return time.NOTHING;
    const isClear = !isSending && this.#outbox.isEmpty;
    if (!this.#parser.isInRequest) return isClear ? time.REQUEST : time.NOTHING;
    if (!this.#current.isBodyPending) return time.HEAD;
    if (isClear) this.#current.isInviting = false;
    return this.#current.isInviting ? time.NOTHING : time.CONTENT;
  }

  /** The client has not sent in time what it had begun, or is not to go on with it. */
  #onLate(lateness: Verdict): void {
    this.#isRunning = true;
    if (this.#parser.isInRequest) this.#onRefusal(lateness);
    else this.#end();
    this.#proceed();
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
        if (this.#current.isBodyPending && this.#current.checkBody()) this.#end();
        return false;
      case AT_HEAD:
        this.#hasMoved = true;
        this.#current.onHead();
        if (this.#current.isLast && this.#exchange.isAnswered) this.#end();
        return true;
      case AT_REQUEST:
        this.#hasMoved = true;
        if (this.#server.isDraining && this.#mayBeLast) return this.#lookForMore();
        this.#onRequest();
        if (this.#state === READING) this.#pace();
        return true;
      default:
        this.#onRefusal(this.#parser.refusal);
        return true;
    }
  }

  /** Whether bytes have come that are behind the request at hand. */
  get #hasUnread(): boolean {
    return this.#parser.hasRest || this.#backlog.bytes > 0;
  }

  /** Whether nothing has come behind the request, and more may lie in the socket. */
  get #mayBeLast(): boolean {
    return !this.#hasUnread && !this.hasInputEnded && !this.#server.isDrainOver;
  }

  /** The request is run when the socket has been read; until then no answer leaves that asks for more. */
  #lookForMore(): false {
    this.#state = LOOKING;
    this.#current.keep(this.#current.isBodyPending);
    const { clock } = this.#server;
    clock.endOfTurn(() => clock.endOfTurn(() => this.#runLast()));
    return false;
  }

  #runLast(): void {
    if (this.#state !== LOOKING) return;
    this.#server.tick();
    this.#isRunning = true;
    this.#state = READING;
    this.#onRequest();
    this.#proceed();
  }

  #onRequest(): void {
    this.#current.run();
    if (!this.#exchange.isAnswered) this.#wait();
    else if (this.#current.isLast) this.#end();
  }

  /** The request outlives its turn; a poll has no content any more. */
  #wait(): void {
    this.#state = WAITING;
    this.#current.keep(true);
  }

  /** What waits is not to be answered any more: a poll takes nothing from now on. */
  #abandon(): void {
    if (this.#state === WAITING) this.#handler.abandon();
  }

  /** Reading stops where answers do not leave, and while others are to run. */
  #pace(): void {
    if (++this.#runCount >= REQUESTS_IN_A_ROW && this.#parser.hasRest) {
      this.#standsBack = true;
      this.#server.turns.add(this);
    }
    if (this.#standsBack || this.#isFull) this.#state = STALLED;
  }

  /** Reading goes on unless it would only fill the backlog; a client that waits for an item is watched. */
  #pauseOrResume(): void {
    const isWaiting = (this.#state === WAITING && !this.#isForItem) || this.#state === LOOKING;
    const isPaused = this.#state === STALLED || (isWaiting && this.#backlog.bytes > 0);
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  #onRefusal(verdict: Verdict): void {
    this.#current.refuse(verdict);
    this.#end();
  }

  /** Everything that arrived whole has been run: the end, if nothing more is to come. */
  #endIfDone(): void {
    if (this.hasInputEnded && this.#parser.isInRequest) this.#onRefusal(CUT_OFF);
    else if (this.hasInputEnded) this.#end();
  }

  /** Whether as many answers as may wait to be sent do. */
  get #isFull(): boolean {
    const outbox = this.#outbox;
    const { inFlight, limits } = this.#server;
    const isCrowd = inFlight.isFull;
    return (
      outbox.unsentBytes > (isCrowd ? UNSENT_BYTES_CROWD : UNSENT_BYTES_MAX) ||
      outbox.heldCount >= limits.pipelineMax ||
      (isCrowd && outbox.holdsCopies)
    );
  }

  /** Hands over what may leave. True: that made room for requests that stood back. */
  #flush(): boolean {
    if (this.#state === LOOKING) return false;
    this.#outbox.flush();
    if (this.#outbox.isHeld) this.#server.addHeld(this);
    if (this.#state === ENDING && this.#outbox.isEmpty && !this.#socket.writableEnded) {
      this.#socket.end(() => this.#linger());
    }
    if (this.#state !== STALLED || this.#isFull || this.#standsBack) return false;
    this.#state = READING;
    return true;
  }

  #end(): void {
    this.#abandon();
    this.#state = ENDING;
    this.#backlog.clear();
  }

  #linger(): void {
    if (this.#state === CLOSED) return;
    this.#server.tick();
    this.#state = LINGERING;
    this.#tellLimits();
  }

  /** Keeps what comes behind a request that waits. */
  #keep(bytes: Buffer, start: number, end: number): void {
    const fits = this.#backlog.add(bytes, start, end);
    if (!fits || this.#hasTooMuchBehind) this.destroy();
    else this.#pauseOrResume();
  }

  /** Whether more stands behind a poll than may: reading on, as has to be, would only add to it. */
  get #hasTooMuchBehind(): boolean {
    const isForItem = this.#state === WAITING && this.#isForItem;
    return isForItem && this.#backlog.hasMoreThan(this.#server.limits.pipelineMax);
  }
}

const NOTHING = Buffer.alloc(0);
