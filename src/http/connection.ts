/**
 * One client connection: feeds the bytes of the socket to the parser, has requests run, sends their
 * responses in order, and ends the connection when it is time.
 *
 * Requests begin in the order sent, as far as they may be under way together (connection-requests.ts).
 * Where the next one may not begin yet the connection is blocked: further bytes are kept, and reading
 * pauses. Behind a request that waits for an item reading continues, so that the client's leaving is
 * seen; too many bytes end the connection. Reading pauses, too, while the client does not take its
 * answers. Bytes that stay in memory after a piece of work are a part of the budget for bytes in flight
 * (held-bytes.ts). While the server drains, the last request runs when the socket has been read once more:
 * if more comes, its answer is not the last. All requests are answered that were received before the stop
 * (early-bytes.ts), and later ones for a second. After the last answer the connection is half-closed and
 * further bytes are dropped for a while, so that no reset overtakes the answer. At the end of each
 * piece of work the time limits are set to the awaited part.
 */
import type { Socket } from 'node:net';
import { isFull } from './back-pressure.ts';
import type { ConnectionHost } from './connection-host.ts';
import { ConnectionRequests } from './connection-requests.ts';
import type { CutOff } from './cut-off.ts';
import type { Timed } from './deadlines.ts';
import { EarlyBytes } from './early-bytes.ts';
import { REQUESTS_IN_A_ROW, type Scheduled } from './fair-scheduler.ts';
import { HELD_BYTES_FREE, HeldBytes } from './held-bytes.ts';
import { Input } from './input.ts';
import { AT_HEAD, AT_REQUEST, NEEDS_MORE, type RequestParser } from './parser.ts';
import type { RequestSlot } from './request-slot.ts';
import { ResponseQueue } from './response-queue.ts';
import { Session } from './session.ts';
import type { SlotConnection } from './slot-connection.ts';
import { readInto } from './socket-reader.ts';
import * as time from './time-limits.ts';
import { CONTENT_CROWDED_OUT, INPUT_CUT_OFF, NO_ROOM_FOR_HEAD, type Verdict } from './verdicts.ts';

// States. In READING requests are read and run; in BLOCKED until one under way is answered.
const READING = 0;
const BLOCKED = 1;
/** The client does not take its answers, they may not leave yet, or others are to run first. */
const STALLED = 2;
/** The server drains; the socket is read once more before the last request that has come is run. */
const LOOKING = 3;
/** The last answer has been given; further bytes are dropped. In LINGERING it is half-closed, too. */
const ENDING = 4;
const LINGERING = 5;
const CLOSED = 6;

export class Connection implements SlotConnection<RequestSlot>, Timed, Scheduled {
  readonly session: Session;
  readonly #host: ConnectionHost;
  readonly #socket: Socket;
  readonly #input: Input;
  readonly #parser: RequestParser;
  readonly #responses: ResponseQueue;
  readonly #limits: time.TimeLimits;
  readonly #requests: ConnectionRequests;
  /** Its share of the budget for bytes in flight; made when it has one for the first time. */
  #held: HeldBytes | undefined;
  /** Whether nothing more is to be read: the connection ends when all is answered. */
  #isInputOver = false;
  #state = READING;
  /** Requests run in a row, and whether others are to run first. */
  #runCount = 0;
  #standsBack = false;
  /** The bytes received before the server was stopped; undefined before that. */
  #early: EarlyBytes | undefined;
  #lookCount = 0;
  /** Whether the client has sent more after the last response. */
  #goesOn = false;
  /** Whether requests are being run: answers given meanwhile are sent at the end. */
  #isRunning = false;
  /** Set by the server: whether it calls when more answers may leave, and at the end of the turn. */
  isDelayed = false;
  isWoken = false;

  constructor(host: ConnectionHost, accepted: Socket) {
    this.#host = host;
    const socket = readInto(host.readBuffer, accepted, (bytes, length) => {
      this.#socketOnRead(bytes, length);
    });
    this.#socket = socket;
    this.session = new Session(socket.remoteAddress ?? '');
    this.#input = new Input(socket, host.limits, host.servedHosts);
    this.#parser = this.#input.parser;
    this.#responses = new ResponseQueue(socket, host, this);
    this.#requests = new ConnectionRequests(host.slots);
    host.tick();
    this.#limits = new time.TimeLimits(host, this);
    if (host.isDraining) this.onStop();
    socket.on('end', () => this.#socketOnEnd());
    socket.on('drain', () => this.release());
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.#socketOnClose());
  }

  get mayWait(): boolean {
    return !this.session.hasInputEnded && !this.#host.isDraining;
  }

  /** Sends the answers that may leave by now; continues where answers were in the way. */
  release(): void {
    this.#host.tick();
    if (!this.#isRunning && this.#state !== CLOSED) this.#proceed();
  }

  /** The server is stopped: it will drain. */
  onStop(): void {
    const { clock, receiveBufferBytesMax } = this.#host;
    this.#early ??= new EarlyBytes(clock, this.#input, receiveBufferBytesMax);
  }

  /** The server drains: a connection that is idle ends, others with their next answer. */
  drain(): void {
    this.onStop();
    this.#limits.shorten();
    this.#hurry();
    this.release();
    if (this.#state === READING) this.onDeadline();
  }

  /** The connection ends at once: requests under way are not answered any more. */
  destroy(): void {
    this.#abandon();
    this.#socket.destroy();
  }

  /** The connection ends at once. Returns what its client does not get; undefined for nothing. */
  cutOff(): Omit<CutOff, 'connections'> | undefined {
    const isEnding = this.#state >= LINGERING;
    const lostBytes = this.#state === LINGERING ? this.#lostBytes() : 0;
    const received = this.#requests.unansweredCount + this.#input.requestCount;
    const requests = received + this.#responses.unsentCount;
    const responseBytes = this.#responses.untakenBytes;
    // With unread input the connection is reset.
    const sentBytes = this.#host.unacknowledged.of(this.#socket, this.#host.nowMs);
    // The first request may be in the socket.
    const isUnread = this.#limits.isNew || (this.#input.isPaused && !this.#isInputOver);
    this.destroy();
    if (lostBytes > 0) return { requests: 1, responseBytes: lostBytes };
    if (isEnding || (requests === 0 && responseBytes === 0 && !isUnread)) return undefined;
    return { requests, responseBytes: responseBytes + sentBytes };
  }

  responsesFor(slot: RequestSlot): ResponseQueue | undefined {
    // Woken in this turn, it has the time of its first answer.
    if (!this.#isRunning && !this.isWoken) this.#host.tick();
    return this.#requests.isNext(slot) ? this.#responses : undefined;
  }

  /** When the client last sent or took something, in milliseconds; Infinity once it is closed. */
  get idleSinceMs(): number {
    return this.#state === CLOSED ? Number.POSITIVE_INFINITY : this.#limits.idleSinceMs;
  }

  get hasUnread(): boolean {
    return this.#input.hasUnread;
  }

  get isEnding(): boolean {
    if (this.#early?.areLeft !== false) return false;
    return !this.hasUnread || this.#host.isDrainOver;
  }

  isNewest(slot: RequestSlot): boolean {
    return this.#requests.isNewest(slot, this.#parser.isInRequest || this.#state === LOOKING);
  }

  onItemAwaited(slot: RequestSlot): boolean {
    const { headBytes } = slot.request;
    if (headBytes > HELD_BYTES_FREE && !this.#holdPoll(headBytes + this.#input.heldBytes))
      return false;
    // Behind a login as much may have been read as may not be behind a poll.
    if (this.#isRunning) return true;
    if (this.#hasTooMuchBehind()) this.destroy();
    else this.#pauseOrResume();
    this.#hold();
    return true;
  }

  onAnswered(slot: RequestSlot, isLast: boolean): void {
    const isLate = this.#requests.onAnswered(slot);
    if (isLast) this.#end();
    if (isLate) this.#goOn();
  }

  onKept(slot: RequestSlot): void {
    if (this.#requests.onKept(slot)) this.#goOn();
  }

  onStreamed(): void {
    if (!this.#isRunning) this.#host.wake(this);
  }

  onCrowdedOut(): void {
    this.#onLate(CONTENT_CROWDED_OUT);
  }

  /** The head that is being received has to make room for others; one that is being read has moved. */
  #onHeadCrowdedOut(): void {
    if (!this.#isRunning) this.onCrowdedOut();
  }

  onDeadline(): void {
    if (this.#state === CLOSED) return;
    this.#host.tick();
    this.#tellLimits();
    if (!this.#limits.check()) return;
    if (this.#state === LINGERING && this.#lostBytes() > 0) return this.#limits.extend();
    if (this.#limits.isReaderLate || this.#state === LINGERING) this.destroy();
    else this.#onLate(this.#limits.lateness);
  }

  takeTurn(): void {
    this.#standsBack = false;
    this.release();
  }

  #socketOnRead(bytes: Buffer, length: number): void {
    this.#host.tick();
    if (this.#early !== undefined) this.#early.onRead(length);
    if (this.#state === READING) {
      this.#parser.load(bytes, length);
      this.#proceed();
    } else if (this.#state <= STALLED) this.#keep(bytes, length);
    else if (this.#state === LOOKING) {
      this.#parser.load(bytes, length);
      this.#runLooked();
    } else this.#goesOn = true;
  }

  #socketOnEnd(): void {
    this.session.hasInputEnded = true;
    this.#early?.complete();
    this.#hurry();
    this.release();
  }

  #socketOnClose(): void {
    this.#abandon();
    this.#limits.leave();
    this.#responses.drop();
    this.#input.free();
    this.#host.onConnectionClosed(this);
  }

  /** A request has been answered: all that waited for that continues, now or at the end of the turn. */
  #goOn(): void {
    if (this.#isRunning || this.#state === CLOSED) return;
    this.#requests.sendKept();
    if (this.isWoken && !this.#requests.isIdle) return;
    this.#mayRead();
    if (this.#requests.isIdle) this.#proceed();
    else this.#host.wake(this);
  }

  /** The client sends no more: a request that waits for a condition is answered now. */
  #hurry(): void {
    this.#host.tick();
    const wasRunning = this.#isRunning;
    this.#isRunning = true;
    this.#requests.hurry();
    this.#isRunning = wasRunning;
  }

  /** Runs requests as long as there are any and nothing is in the way; sends the answers. */
  #proceed(): void {
    this.#isRunning = true;
    this.#runCount = 0;
    try {
      if (this.#state === BLOCKED) this.#unblock();
      do {
        if (this.#state === READING && this.#input.isKept) this.#input.takeKept();
        while (this.#state === READING && this.#step());
        if (this.#state === READING && this.session.hasInputEnded) this.#endWithInput();
      } while (this.#flush() || (this.#state === BLOCKED && this.#unblock()));
    } catch (error) {
      this.#host.onFailure(error);
      this.destroy();
    }
    this.#isRunning = false;
    this.#leaveInput();
    if (this.#state === CLOSED) return;
    if (this.#state !== READING || this.#input.isPaused) this.#pauseOrResume();
    this.#tellLimits();
    if (!this.#requests.isIdle) this.#requests.offerRoom();
    this.#hold();
  }

  /** Continues where the requests under way are no longer in the way. */
  #unblock(): boolean {
    if (this.#isInputOver ? !this.#requests.isIdle : this.#requests.isBlocked) return false;
    this.#state = this.#isInputOver ? ENDING : READING;
    if (this.#state === READING) this.#requests.unpark();
    this.#mayRead();
    return true;
  }

  /** Whether requests may be read and run; if not, the state says why. */
  #mayRead(): boolean {
    if (this.#state !== READING) return false;
    if (this.#requests.isBlocked) this.#state = BLOCKED;
    else if (isFull(this.#responses, this.#requests, this.#host)) this.#state = STALLED;
    return this.#state === READING;
  }

  #tellLimits(): void {
    const received = this.#requests.current?.body.received ?? 0;
    const taken = this.#responses.isSending ? this.#responses.takenBytes : -1;
    this.#limits.tell(this.#awaited(taken >= 0), received, taken);
  }

  /** Only what the client owes counts: nothing while the server itself is in its way. */
  #awaited(isSending: boolean): time.Awaited {
    if (this.#state !== READING) return this.#state === LINGERING ? time.END : time.NOTHING;
    const isClear = !isSending && this.#responses.isEmpty && this.#requests.isIdle;
    const { current } = this.#requests;
    if (current === undefined || !this.#parser.isInRequest) {
      return isClear ? time.REQUEST : time.NOTHING;
    }
    if (!current.isBodyPending) return time.HEAD;
    if (isClear) current.uninvite();
    return current.isInviting ? time.NOTHING : time.CONTENT;
  }

  /** The client has not sent the rest of a request in time, or is not to continue it. */
  #onLate(lateness: Verdict): void {
    this.#isRunning = true;
    if (this.#parser.isInRequest) this.#onRefusal(lateness);
    else this.#end();
    this.#proceed();
  }

  /** Frees the bytes read, but for those that are still to run; and a slot without a request. */
  #leaveInput(): void {
    const isToStay = this.#state === BLOCKED || this.#state === STALLED;
    if (!this.#input.leave(isToStay) || (isToStay && this.#hasTooMuchBehind())) this.destroy();
    const isReading = this.#parser.isInRequest || this.#state === LOOKING;
    if (isReading && this.#state < ENDING) return;
    this.#requests.leaveCurrent(this.#parser.leaveHead());
  }

  /** Takes the memory that is held after a piece of work out of the budget, or ends what holds it. */
  #hold(): void {
    if (this.#state === CLOSED) return;
    const isBlocked = this.#state === BLOCKED;
    const bytes = this.#input.heldBytes + (isBlocked ? this.#requests.heldBytes : 0);
    if (bytes <= HELD_BYTES_FREE && this.#held?.isFree !== false) return;
    if (this.#state === READING) this.#holdHead(bytes);
    else if (!isBlocked || !this.#requests.awaitsItem) this.#holdUnread(bytes);
    else if (!this.#holdPoll(bytes)) this.destroy();
  }

  #holdHead(bytes: number): void {
    const { headPosition, position } = this.#parser;
    const { inFlight, nowMs } = this.#host;
    if (this.#share().holdHead(bytes, headPosition, position, nowMs)) return;
    this.#onLate(NO_ROOM_FOR_HEAD);
    inFlight.relieveHeld(bytes - HELD_BYTES_FREE, nowMs);
  }

  /** False: there is no room for the poll and what is behind it. */
  #holdPoll(bytes: number): boolean {
    if (this.#share().holdPoll(bytes)) return true;
    const { inFlight, nowMs } = this.#host;
    inFlight.relieveHeld(bytes - HELD_BYTES_FREE, nowMs);
    return false;
  }

  #holdUnread(bytes: number): void {
    this.#share().holdUnread(bytes);
    const { inFlight, nowMs } = this.#host;
    if (bytes > HELD_BYTES_FREE && !inFlight.mayStayUnread(0)) inFlight.relieveUnread(nowMs);
  }

  #share(): HeldBytes {
    this.#held ??= new HeldBytes(this.#host.inFlight, () => this.#onHeadCrowdedOut());
    return this.#held;
  }

  /** Reads up to the next decision and makes it. False: the input is used up. */
  #step(): boolean {
    let { current } = this.#requests;
    if (current === undefined) {
      if (!this.#parser.hasRest) return false;
      current = this.#requests.read(this, this.#parser);
    }
    switch (this.#parser.next()) {
      case NEEDS_MORE:
        if (current.isBodyPending && current.checkBody()) this.#end();
        return false;
      case AT_HEAD:
        this.#limits.onMoved();
        current.onHead(this.#parser.hasRest);
        return true;
      case AT_REQUEST:
        this.#limits.onMoved();
        if (this.#host.isDraining && this.#mayBeLast()) return this.#lookForMore();
        this.#requests.begin();
        if (this.#mayRead() && ++this.#runCount >= REQUESTS_IN_A_ROW) this.#standBack();
        return true;
      default:
        this.#onRefusal(this.#parser.refusal);
        return true;
    }
  }

  /** While the server drains: nothing has come behind the request, and more may be in the socket. */
  #mayBeLast(): boolean {
    if (this.hasUnread || this.session.hasInputEnded) return false;
    return !this.#host.isDrainOver || this.#early?.areLeft !== false;
  }

  /**
   * Runs the request when more has come, or the socket has been read once more; until then no answer that
   * asks for more leaves.
   */
  #lookForMore(): false {
    this.#state = LOOKING;
    this.#requests.current?.own();
    const { clock } = this.#host;
    const look = ++this.#lookCount;
    clock.endOfTurn(() => clock.endOfTurn(() => this.#onLooked(look)));
    return false;
  }

  /** Nothing has come in a whole turn: what the socket had before the stop has been read. */
  #onLooked(look: number): void {
    if (this.#state !== LOOKING || look !== this.#lookCount) return;
    this.#early?.complete();
    this.#host.tick();
    this.#runLooked();
  }

  #runLooked(): void {
    this.#isRunning = true;
    this.#state = READING;
    this.#requests.begin();
    this.#mayRead();
    this.#proceed();
  }

  /** Requests under way are not to be answered any more: a poll takes nothing from now on. */
  #abandon(): void {
    if (this.#state === CLOSED) return;
    this.#state = CLOSED;
    this.#requests.abandon();
    this.#held?.holdUnread(0);
  }

  /** Others are to run before the rest of the input, unless there is no memory for the rest. */
  #standBack(): void {
    const { length } = this.#parser.rest;
    if (length === 0) return;
    if (length > HELD_BYTES_FREE && !this.#host.inFlight.mayStayUnread(length)) return;
    this.#standsBack = true;
    this.#state = STALLED;
    this.#host.scheduler.add(this);
  }

  /** Reads on unless that would only fill the backlog; a client that waits for an item is watched. */
  #pauseOrResume(): void {
    const isBlocked = this.#state === BLOCKED && !this.#requests.awaitsItem;
    this.#input.pause(this.#state === STALLED || (isBlocked && this.#input.isKept));
    this.#early?.watch();
  }

  /**
   * Bytes of responses that a client which goes on sending loses if the connection is closed now, as that
   * resets it. Only while the server drains.
   */
  #lostBytes(): number {
    if (this.#early === undefined || !this.#goesOn) return 0;
    return this.#host.unacknowledged.of(this.#socket, this.#host.nowMs);
  }

  #onRefusal(verdict: Verdict): void {
    this.#requests.refuse(verdict, this.#parser);
    this.#end();
  }

  /** All whole requests have begun, and nothing more is to come. */
  #endWithInput(): void {
    if (this.#parser.isInRequest) this.#onRefusal(INPUT_CUT_OFF);
    else this.#end();
  }

  /** Hands over the answers that may leave. True: requests that stood back, or were blocked, continue. */
  #flush(): boolean {
    if (this.#state === LOOKING) return false;
    this.#requests.sendKept();
    this.#responses.flush();
    if (this.#responses.isDelayed) this.#host.addDelayed(this);
    if (this.#state === ENDING && this.#responses.isEmpty && !this.#socket.writableEnded) {
      this.#socket.end(() => this.#linger());
    }
    if (this.#state !== STALLED || this.#standsBack) return false;
    this.#state = READING;
    return this.#mayRead();
  }

  /** Nothing more is read; the connection ends when all that is under way has been answered. */
  #end(): void {
    this.#isInputOver = true;
    this.#input.drop();
    if (this.#state !== CLOSED) this.#state = this.#requests.isIdle ? ENDING : BLOCKED;
  }

  #linger(): void {
    if (this.#state === CLOSED) return;
    this.#host.tick();
    this.#state = LINGERING;
    this.#tellLimits();
  }

  #keep(bytes: Buffer, length: number): void {
    if (this.#isInputOver) return;
    if (!this.#input.keep(bytes, 0, length) || this.#hasTooMuchBehind()) return this.destroy();
    this.#pauseOrResume();
    this.#hold();
  }

  /** Whether more is behind a poll than permitted: reading on, as is necessary, would only add to it. */
  #hasTooMuchBehind(): boolean {
    const isForItem = this.#state === BLOCKED && this.#requests.awaitsItem;
    return isForItem && this.#input.hasTooMany;
  }
}
