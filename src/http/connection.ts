/**
 * One client connection: feeds the bytes of its carrier to the parser, runs requests, sends their
 * responses in order, and closes the connection when it is over.
 *
 * - Requests begin in the order sent, if they may be under way together (connection-requests.ts). If the
 *   next one may not begin yet, the connection is blocked: further bytes are buffered, and reading pauses.
 *   While a request waits for an item, reading continues to detect a disconnect; too much input closes
 *   the connection. Reading also pauses while the client does not read its responses.
 * - Bytes that stay in memory after a piece of work count in the budget for bytes in flight
 *   (held-bytes.ts). Each piece of work ends with an update of the time limits.
 * - While the server drains, the last request runs after the carrier has looked for more: if more has
 *   been received, its response is not the last. Requests received before the stop are all answered
 *   (early-bytes.ts), later ones for one second. After the last response the connection is half-closed
 *   and input is discarded for a while, so that a TCP reset cannot discard the response.
 */
import type { Carrier, CarrierUser } from './carrier.ts';
import { ConnectionRequests } from './connection-requests.ts';
import type { CutOff } from './cut-off.ts';
import type { Timed } from './deadlines.ts';
import { EarlyBytes } from './early-bytes.ts';
import { REQUESTS_IN_A_ROW, type Scheduled } from './fair-scheduler.ts';
import { HELD_BYTES_FREE, HeldBytes } from './held-bytes.ts';
import { Input } from './input.ts';
import { AT_HEAD, AT_REQUEST, NEEDS_MORE, type RequestParser } from './parser.ts';
import {
  CONTENT_CROWDED_OUT,
  INPUT_CUT_OFF,
  NO_ROOM_FOR_HEAD,
  type ReadFailure,
} from './read-failures.ts';
import type { Request } from './request.ts';
import { ResponseQueue } from './response-queue.ts';
import type { HttpServer } from './server.ts';
import { Session } from './session.ts';
import * as time from './time-limits.ts';

// States. READING: requests are read and run. BLOCKED: no further one before another is answered.
const READING = 0;
const BLOCKED = 1;
/** The client does not read its responses, they may not be sent yet, or other connections run first. */
const STALLED = 2;
/** The server drains; the carrier looks for more input before the last request received is run. */
const AWAITING_MORE = 3;
/** The last response has been written; input is discarded. LINGERING: also half-closed. */
const ENDING = 4;
const LINGERING = 5;
const CLOSED = 6;

export class Connection implements CarrierUser, Timed, Scheduled {
  readonly session: Session;
  readonly #server: HttpServer;
  readonly #carrier: Carrier;
  readonly #input: Input;
  readonly #parser: RequestParser;
  readonly #responses: ResponseQueue;
  readonly #limits: time.TimeLimits;
  readonly #requests: ConnectionRequests;
  /** The connection's share of the budget for bytes in flight; created when it first needs one. */
  #held: HeldBytes | undefined;
  /** Whether nothing more will be read; the connection ends when all requests are answered. */
  #isInputOver = false;
  #state = READING;
  /** Number of requests run in a row, and whether other connections run first. */
  #runCount = 0;
  #hasYielded = false;
  /** The bytes received before the server was stopped; undefined until then. */
  #early: EarlyBytes | undefined;
  #waitCount = 0;
  /** Whether the client has sent more after the last response. */
  #sendsMore = false;
  /** Whether a piece of work is running; its responses are sent at its end. */
  #isRunning = false;
  /** The place among the server's open connections, which the server changes. */
  place: number;
  /** Set by the server: whether it will call `release` when more responses may be sent. */
  isDelayed = false;
  /** Set by the server: whether it will call `release` at the end of the turn. */
  isWoken = false;

  constructor(server: HttpServer, carrier: Carrier) {
    this.#server = server;
    this.#carrier = carrier;
    this.session = new Session(carrier);
    this.#input = new Input(carrier, server.limits, server.servedHosts);
    this.#parser = this.#input.parser;
    this.#responses = new ResponseQueue(carrier, server, this);
    this.#requests = new ConnectionRequests(server.requests);
    server.tick();
    this.#limits = new time.TimeLimits(server, this);
    this.place = server.onConnectionOpened(this);
    carrier.open(this);
    if (server.isDraining) this.onStop();
  }

  get mayWait(): boolean {
    return !this.session.hasInputEnded && !this.#server.isDraining;
  }

  /** Sends the responses that may be sent by now, and continues with requests that waited for that. */
  release(): void {
    this.#server.tick();
    if (!this.#isRunning && this.#state !== CLOSED) this.#proceed();
  }

  /** Called when the server is stopped, before it drains. */
  onStop(): void {
    const { receiveBufferBytesMax } = this.#server;
    this.#early ??= new EarlyBytes(this.#carrier, this.#input, receiveBufferBytesMax);
  }

  /**
   * Begins to drain: an idle connection ends, any other one after its last response. `isClientSending`:
   * whether its client has sent something on any connection within LAST_REQUEST_MS.
   */
  drain(isClientSending: boolean): void {
    this.onStop();
    this.#limits.shorten(isClientSending);
    this.#finishWaiting();
    this.release();
    if (this.#state === READING) this.onDeadline();
  }

  /** Ends the connection immediately, without the responses to the requests under way. */
  destroy(): void {
    this.#abandon();
    this.#carrier.destroy();
  }

  /** Ends the connection immediately. Returns the losses of its client; undefined for none. */
  cutOff(): Omit<CutOff, 'connections'> | undefined {
    const isEnding = this.#state >= LINGERING;
    const lostBytes = this.#state === LINGERING ? this.#lostBytes() : 0;
    const received = this.#requests.unansweredCount + this.#input.requestCount;
    const requests = received + this.#responses.unsentCount;
    const responseBytes = this.#responses.untakenBytes;
    // A connection that is closed with unread input is reset, so responses already sent may be lost.
    const sentBytes = this.#server.unacknowledged.of(this.#carrier, this.#server.nowMs);
    // The first request may not have been read yet.
    const isUnread = this.#limits.isNew || (this.#input.isPaused && !this.#isInputOver);
    this.destroy();
    if (lostBytes > 0) return { requests: 1, responseBytes: lostBytes };
    if (isEnding || (requests === 0 && responseBytes === 0 && !isUnread)) return undefined;
    return { requests, responseBytes: responseBytes + sentBytes };
  }

  responsesFor(request: Request): ResponseQueue | undefined {
    // A connection woken in this turn uses the time of its first response.
    if (!this.#isRunning && !this.isWoken) this.#server.tick();
    return this.#requests.isNext(request) ? this.#responses : undefined;
  }

  /** Time of the client's last progress in sending or reading, in ms; Infinity once closed. */
  get idleSinceMs(): number {
    return this.#state === CLOSED ? Number.POSITIVE_INFINITY : this.#limits.idleSinceMs;
  }

  get hasUnread(): boolean {
    return this.#input.hasUnread;
  }

  get isEnding(): boolean {
    if (this.#early?.areLeft !== false) return false;
    return !this.hasUnread || this.#server.isDrainOver;
  }

  isNewest(request: Request): boolean {
    return this.#requests.isNewest(
      request,
      this.#parser.isInRequest || this.#state === AWAITING_MORE,
    );
  }

  onItemAwaited(request: Request): boolean {
    const { headBytes } = request.head;
    if (headBytes > HELD_BYTES_FREE && !this.#holdPoll(headBytes + this.#input.heldBytes))
      return false;
    // While a login is computed, more input may be buffered than a waiting poll allows.
    if (this.#isRunning) return true;
    if (this.#hasTooManyAfterPoll()) this.destroy();
    else this.#pauseOrResume();
    this.#hold();
    return true;
  }

  onAnswered(request: Request, isLast: boolean): void {
    const isLate = this.#requests.onAnswered(request);
    if (isLast) this.#end();
    if (isLate) this.#continueAfterResponse();
  }

  onBuffered(request: Request): void {
    if (this.#requests.onBuffered(request)) this.#continueAfterResponse();
  }

  onStreamed(): void {
    if (!this.#isRunning) this.#server.wake(this);
  }

  onCrowdedOut(): void {
    this.#onLate(CONTENT_CROWDED_OUT);
  }

  /** Ends the head being received to make room for others, unless it is being read in this turn. */
  #onHeadCrowdedOut(): void {
    if (!this.#isRunning) this.onCrowdedOut();
  }

  onDeadline(): void {
    if (this.#state === CLOSED) return;
    this.#server.tick();
    this.#updateLimits();
    if (!this.#limits.check()) return;
    if (this.#state === LINGERING && this.#lostBytes() > 0) return this.#limits.extend();
    if (this.#limits.isReaderLate || this.#state === LINGERING) this.destroy();
    else this.#onLate(this.#limits.lateness);
  }

  resume(): void {
    this.#hasYielded = false;
    this.release();
  }

  onBytes(bytes: Buffer, length: number): void {
    this.#server.tick();
    this.#server.meter.countReceived(length);
    if (this.#early !== undefined) this.#early.onRead(length);
    if (this.#state === READING) {
      this.#parser.load(bytes, length);
      this.#proceed();
    } else if (this.#state <= STALLED) this.#addToBacklog(bytes, length);
    else if (this.#state === AWAITING_MORE) {
      this.#parser.load(bytes, length);
      this.#runLast();
    } else this.#sendsMore = true;
  }

  onInputEnd(): void {
    this.session.hasInputEnded = true;
    this.#early?.complete();
    this.#finishWaiting();
    this.release();
  }

  onTaken(): void {
    this.#responses.onTaken();
    this.release();
  }

  onEnded(): void {
    if (this.#state === CLOSED) return;
    this.#server.tick();
    this.#state = LINGERING;
    this.#updateLimits();
  }

  onFailed(): void {
    this.#abandon();
  }

  onClosed(): void {
    this.#abandon();
    this.#limits.leave();
    this.#responses.drop();
    this.#input.free();
    this.#server.onConnectionClosed(this);
  }

  /** Continues, now or at the end of the turn, with what waited for a request to be answered. */
  #continueAfterResponse(): void {
    if (this.#isRunning || this.#state === CLOSED) return;
    this.#requests.sendBuffered();
    if (this.isWoken && !this.#requests.isIdle) return;
    this.#mayRead();
    if (this.#requests.isIdle) this.#proceed();
    else this.#server.wake(this);
  }

  /** Makes requests that wait for a condition respond now, as the client sends nothing more. */
  #finishWaiting(): void {
    this.#server.tick();
    const wasRunning = this.#isRunning;
    this.#isRunning = true;
    this.#requests.finishNow();
    this.#isRunning = wasRunning;
  }

  /** Runs requests until none is left or the state forbids it, and sends the responses. */
  #proceed(): void {
    this.#isRunning = true;
    this.#runCount = 0;
    try {
      if (this.#state === BLOCKED) this.#unblock();
      do {
        if (this.#state === READING && this.#input.hasBacklog) this.#input.loadBacklog();
        while (this.#state === READING && this.#step());
        if (this.#state === READING && this.session.hasInputEnded) this.#endWithInput();
      } while (this.#flush() || (this.#state === BLOCKED && this.#unblock()));
    } catch (error) {
      this.#server.onFailure(error);
      this.destroy();
    }
    this.#isRunning = false;
    this.#unloadInput();
    if (this.#state === CLOSED) return;
    if (this.#state !== READING || this.#input.isPaused) this.#pauseOrResume();
    this.#updateLimits();
    if (!this.#requests.isIdle) this.#requests.offerRoom();
    this.#hold();
  }

  /** Leaves BLOCKED, if the requests under way no longer require it. */
  #unblock(): boolean {
    if (this.#isInputOver ? !this.#requests.isIdle : this.#requests.isBlocked) return false;
    this.#state = this.#isInputOver ? ENDING : READING;
    if (this.#state === READING) this.#requests.unpark();
    this.#mayRead();
    return true;
  }

  /** Returns whether requests may be read and run; if not, sets the state to the reason. */
  #mayRead(): boolean {
    if (this.#state !== READING) return false;
    if (this.#requests.isBlocked) this.#state = BLOCKED;
    else if (this.#responses.isFull(this.#requests.bufferedBytes)) this.#state = STALLED;
    return this.#state === READING;
  }

  #updateLimits(): void {
    const received = this.#requests.current?.body.received ?? 0;
    const taken = this.#responses.isSending ? this.#responses.takenBytes : -1;
    this.#limits.update(this.#awaited(taken >= 0), received, taken);
  }

  /** Returns the part that the client has to send next: NOTHING while the server holds it up. */
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

  /** Refuses the request being received, which is late or has to make room, and ends the connection. */
  #onLate(lateness: ReadFailure): void {
    this.#isRunning = true;
    if (this.#parser.isInRequest) this.#onRefusal(lateness);
    else this.#end();
    this.#proceed();
  }

  /** Frees the input, except unread requests that will run later, and an object without a request. */
  #unloadInput(): void {
    const storesRest = this.#state === BLOCKED || this.#state === STALLED;
    if (!this.#input.unload(storesRest) || (storesRest && this.#hasTooManyAfterPoll()))
      this.destroy();
    const isReading = this.#parser.isInRequest || this.#state === AWAITING_MORE;
    if (isReading && this.#state < ENDING) return;
    this.#requests.freeCurrent(this.#parser.releaseHead());
  }

  /** Reserves the memory held after a piece of work in the budget, or ends its request. */
  #hold(): void {
    if (this.#state === CLOSED) return;
    const isBlocked = this.#state === BLOCKED;
    const bytes = this.#input.heldBytes + (isBlocked ? this.#requests.heldBytes : 0);
    if (bytes <= HELD_BYTES_FREE && this.#held?.isFree !== false) return;
    if (this.#state === READING) this.#holdHead(bytes);
    else if (!isBlocked || !this.#requests.isWatched) this.#holdUnread(bytes);
    else if (!this.#holdPoll(bytes)) this.destroy();
  }

  #holdHead(bytes: number): void {
    const { headPosition, position } = this.#parser;
    const { inFlight, nowMs } = this.#server;
    if (this.#share().holdHead(bytes, headPosition, position, nowMs)) return;
    this.#onLate(NO_ROOM_FOR_HEAD);
    inFlight.relieveHeld(bytes - HELD_BYTES_FREE, nowMs);
  }

  /** Returns false if the budget has no room for the waiting poll and the input after it. */
  #holdPoll(bytes: number): boolean {
    if (this.#share().holdPoll(bytes)) return true;
    const { inFlight, nowMs } = this.#server;
    inFlight.relieveHeld(bytes - HELD_BYTES_FREE, nowMs);
    return false;
  }

  #holdUnread(bytes: number): void {
    this.#share().holdUnread(bytes);
    const { inFlight, nowMs } = this.#server;
    if (bytes > HELD_BYTES_FREE && !inFlight.hasUnreadRoom(0)) inFlight.relieveUnread(nowMs);
  }

  #share(): HeldBytes {
    this.#held ??= new HeldBytes(this.#server.inFlight, () => this.#onHeadCrowdedOut());
    return this.#held;
  }

  /** Reads up to the next decision and makes it. Returns false when the input is used up. */
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
        if (this.#server.isDraining && this.#mayBeLast()) return this.#awaitMore();
        this.#requests.begin();
        if (this.#mayRead() && ++this.#runCount >= REQUESTS_IN_A_ROW) this.#yieldToOthers();
        return true;
      default:
        this.#onRefusal(this.#parser.refusal);
        return true;
    }
  }

  /** Whether the request may be the last: no input follows it, but the carrier may still have some. */
  #mayBeLast(): boolean {
    if (this.hasUnread || this.session.hasInputEnded) return false;
    return !this.#server.isDrainOver || this.#early?.areLeft !== false;
  }

  /**
   * Runs the request when more has been received, or the carrier has looked for more. Until then no
   * response is sent that invites another request.
   */
  #awaitMore(): false {
    this.#state = AWAITING_MORE;
    this.#requests.current?.retainBytes();
    const wait = ++this.#waitCount;
    this.#carrier.look(() => this.#onNoMore(wait));
    return false;
  }

  /** Runs the request after a look without input: the carrier has been read empty. */
  #onNoMore(wait: number): void {
    if (this.#state !== AWAITING_MORE || wait !== this.#waitCount) return;
    this.#early?.complete();
    this.#server.tick();
    this.#runLast();
  }

  #runLast(): void {
    this.#isRunning = true;
    this.#state = READING;
    this.#requests.begin();
    this.#mayRead();
    this.#proceed();
  }

  /** Abandons the requests under way; a waiting poll takes no item from now on. */
  #abandon(): void {
    if (this.#state === CLOSED) return;
    this.#state = CLOSED;
    this.#requests.abandon();
    this.#held?.holdUnread(0);
  }

  /** Lets other connections run before the rest of the input, if there is memory to store the rest. */
  #yieldToOthers(): void {
    const { length } = this.#parser.rest;
    if (length === 0) return;
    if (length > HELD_BYTES_FREE && !this.#server.inFlight.hasUnreadRoom(length)) return;
    this.#hasYielded = true;
    this.#state = STALLED;
    this.#server.scheduler.add(this);
  }

  /** Pauses reading if it would only fill the backlog; resumes it to watch a client waiting for an item. */
  #pauseOrResume(): void {
    const isBlocked = this.#state === BLOCKED && !this.#requests.isWatched;
    this.#input.pause(this.#state === STALLED || (isBlocked && this.#input.hasBacklog));
    this.#early?.watch();
  }

  /**
   * Returns the bytes of responses that the client would lose if the connection were closed now: it is
   * still sending, so closing resets the connection. 0 unless the server drains.
   */
  #lostBytes(): number {
    if (this.#early === undefined || !this.#sendsMore) return 0;
    return this.#server.unacknowledged.of(this.#carrier, this.#server.nowMs);
  }

  #onRefusal(failure: ReadFailure): void {
    this.#requests.refuse(failure, this.#parser);
    this.#end();
  }

  /** Ends the connection after its last complete request; refuses an incomplete one. */
  #endWithInput(): void {
    if (this.#parser.isInRequest) this.#onRefusal(INPUT_CUT_OFF);
    else this.#end();
  }

  /** Sends the responses that may be sent. Returns whether stalled requests may continue. */
  #flush(): boolean {
    if (this.#state === AWAITING_MORE) return false;
    this.#requests.sendBuffered();
    this.#responses.flush();
    if (this.#responses.isDelayed) this.#server.addDelayed(this);
    if (this.#state === ENDING && this.#responses.isEmpty) this.#carrier.end();
    if (this.#state !== STALLED || this.#hasYielded) return false;
    this.#state = READING;
    return this.#mayRead();
  }

  /** Stops reading; the connection ends when the requests under way have been answered. */
  #end(): void {
    this.#isInputOver = true;
    this.#input.drop();
    if (this.#state !== CLOSED) this.#state = this.#requests.isIdle ? ENDING : BLOCKED;
  }

  #addToBacklog(bytes: Buffer, length: number): void {
    if (this.#isInputOver) return;
    if (!this.#input.addToBacklog(bytes, 0, length) || this.#hasTooManyAfterPoll())
      return this.destroy();
    this.#pauseOrResume();
    this.#hold();
  }

  /** Whether more requests follow a waiting poll than permitted; reading cannot pause during a poll. */
  #hasTooManyAfterPoll(): boolean {
    const isForItem = this.#state === BLOCKED && this.#requests.isWatched;
    return isForItem && this.#input.hasTooMany;
  }
}
