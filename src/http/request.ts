/**
 * A request from its first byte to its response: its bytes, its handler, and a response that waits for
 * earlier ones. Objects are pooled. One is reused only after its request has been answered.
 *
 *     free ─ read ─ run ─┬─────────────── answered, written ─ free
 *                 │      └─ under way ──┬─ answered, written ─ free
 *                 └ parked ─ run …      └─ answered, buffered ─ written ─ free
 *
 * A request answered while it runs retains no bytes: its spans refer to the input area of all connections.
 * A request that is parked or under way retains a copy of its bytes (`retainBytes`). Each request is
 * answered once. A response that is next in order is written into the arena. One that is ready too early
 * is buffered, and one for a disconnected client is dropped. Tested by connection.spec.ts.
 */
import assert from 'node:assert';
import type { ViewedBytes } from '../base/copy-bytes.ts';
import type { ErrorCode } from '../base/errors.ts';
import { NO_PARTITION } from '../base/partition-number.ts';
import {
  isEmptyRefusal,
  REFUSALS,
  type RefusalCode,
  type RefusalValues,
  refusalText,
} from '../base/refusals.ts';
import { Span } from '../base/span.ts';
import type { RequestHandler } from './application.ts';
import { Body } from './body.ts';
import type { Connection } from './connection.ts';
import {
  DROPPED_CONTENT_BYTES_MAX,
  endsInsteadOfDropping,
  expectsContinue,
  passesContentChecks,
  refuseContent,
} from './content-checks.ts';
import * as failures from './read-failures.ts';
import { RequestHead } from './request-head.ts';
import type { Fields, Response } from './response.ts';
import type { ResponseQueue } from './response-queue.ts';
import { ResponseStream } from './response-stream.ts';
import {
  type BytesRetainer,
  endRetention,
  NO_PLACE,
  PLACE_BYTES,
  type Places,
} from './retained-bytes.ts';
import type { HttpServer } from './server.ts';
import type { Session } from './session.ts';
import { asLate, asUntimed, exchangeOf, NO_REQUEST } from './traffic-meter.ts';

// The state is bits of one number to save CPU cache per request under way.
/** There is a request, answered or not. */
const TAKEN = 1;
/** Content has been announced and not completely received. */
const BODY_PENDING = 1 << 1;
/** The client waits for `100 Continue`, or may not have received it yet. */
const INVITING = 1 << 2;
/** `100 Continue` has been written. */
const INVITED = 1 << 3;
/** The client is watched while the request waits for an item or its response is a stream. */
const WATCHED = 1 << 4;
/** The bytes are not a request, or its head is incomplete. */
const UNREADABLE = 1 << 5;
/** The request has begun to run. */
const BEGUN = 1 << 6;
const RUNNING = 1 << 7;
/** The request retains a copy of its bytes. */
const RETAINS_BYTES = 1 << 8;
/** Fields other than this number differ from an unused object and are not set by a new request. */
const DIRTY = 1 << 9;
/** The copy of its head is in a buffer of its own. */
const LONG_HEAD = 1 << 10;

export class Request implements BytesRetainer {
  /** The client of the request. */
  session!: Session;
  /** The code of a refusal, for logs; set before the response, and empty otherwise. */
  code: RefusalCode | ErrorCode | '' = '';
  /** The text of the refusal, for logs. */
  reason = '';
  // The fields below are used by every response and are adjacent in memory.
  readonly head = new RequestHead();
  /** Whether the request has been answered. */
  isAnswered = true;
  /** Number of requests that the object has had, with this one. */
  number = 0;
  /** The exchange without its status (traffic-meter.ts). Set by the handler once it knows the path. */
  exchange = 0;
  /** Time at which a request that outlives its turn was complete, in ms. */
  beganMs = 0;
  /** The connection of the request; undefined while free, and once the client has disconnected. */
  #connection: Connection | undefined;
  #state = 0;
  readonly #server: HttpServer;
  readonly #onFree: (request: Request) => void;
  /** The response that waits for earlier ones to be written. */
  #buffered: Response | undefined;
  #stream: ResponseStream | undefined;
  #responseLines = '';
  readonly handler: RequestHandler;
  readonly body: Body;
  readonly #places: Places;
  /** The number in the pool. */
  readonly poolNumber: number;
  place = NO_PLACE;
  longBytes: ViewedBytes | undefined;

  /** `onFree` is called when a request is over. */
  constructor(
    server: HttpServer,
    places: Places,
    poolNumber: number,
    onFree: (request: Request) => void,
  ) {
    this.#server = server;
    this.#places = places;
    this.poolNumber = poolNumber;
    this.#onFree = onFree;
    this.body = new Body(server.limits.bodyBytesMax, server.inFlight);
    this.handler = server.application.open(this);
  }

  /** Begins a request of the connection. */
  begin(connection: Connection): void {
    if (this.#state !== 0) assert.fail('an object has one request');
    this.#state = TAKEN;
    this.#connection = connection;
    this.session = connection.session;
    this.number++;
  }

  /** Whether content has been announced and not completely received. */
  get isBodyPending(): boolean {
    return this.#is(BODY_PENDING);
  }

  /** Whether the client waits for `100 Continue`, or may not have received it yet. */
  get isInviting(): boolean {
    return this.#is(INVITING);
  }

  /** Whether the client is watched, as the request waits for an item or its response is a stream. */
  get isWatched(): boolean {
    return this.#is(WATCHED);
  }

  /** Length of the head if its copy is in a buffer of its own, otherwise 0, in bytes. */
  get longHeadBytes(): number {
    return this.#is(LONG_HEAD) ? this.head.headBytes : 0;
  }

  /** The content, which is complete when the handler runs. */
  get content(): Span {
    return this.body.content;
  }

  /** Whether the client has disconnected, so that the response is dropped. */
  get isAbandoned(): boolean {
    return this.#connection === undefined;
  }

  /** Whether the response may wait for a condition: false at the end of input and while draining. */
  get mayWait(): boolean {
    return this.#connection?.mayWait ?? false;
  }

  /** The budget for bytes in flight, in bytes. */
  get inFlightBytesMax(): number {
    return this.#server.inFlight.bytesMax;
  }

  /** The budget for bytes in flight if it is used up, so that long responses must be refused; or 0. */
  get usedUpBytes(): number {
    const { inFlight, nowMs } = this.#server;
    if (!inFlight.isFull) return 0;
    inFlight.relieve(nowMs);
    return inFlight.bytesMax;
  }

  /** Maximum length of the header fields of a request, in bytes. */
  get headerBytesMax(): number {
    return this.#server.limits.headerBytesMax;
  }

  /** Counts the bytes of a response that is being made in the budget, even if it is used up. */
  overdraw(bytes: number): void {
    this.#server.inFlight.overdraw(bytes);
  }

  /** Releases bytes that `overdraw` has counted. */
  releaseOverdraft(bytes: number): void {
    this.#server.inFlight.release(bytes);
  }

  /** Whether the response is buffered until earlier ones have been written. */
  get isBuffered(): boolean {
    return this.#buffered !== undefined;
  }

  /** Bytes of the buffered response. */
  get bufferedBytes(): number {
    return this.#buffered?.content.length ?? 0;
  }

  // Responses.

  /** The queue to write the response to; undefined while earlier ones are missing, or without a client. */
  get queue(): ResponseQueue | undefined {
    return this.#connection?.responsesFor(this);
  }

  /** Further header fields of whatever the response will be, each with CR LF. */
  get responseLines(): string {
    return this.#responseLines;
  }

  addResponseLines(lines: string): void {
    this.#responseLines += lines;
    this.#state |= DIRTY;
  }

  /**
   * Begins a response without content, which is then set and passed to `send`. The object is reused by the
   * next response. `partition` and `sequence`: the mutation that must be durable before it is sent, if
   * responses are delayed; or NO_PARTITION.
   */
  draft(status: number, partition = NO_PARTITION, sequence = 0): Response {
    return this.#server.draft.begin(status, partition, sequence);
  }

  /** Writes the response, or a copy of it once all earlier ones have been written. */
  send(response: Response): void {
    if (this.isAnswered) assert.fail('a request is answered once');
    const { queue } = this;
    if (queue === undefined) return this.#buffer(response);
    const { status } = response;
    const isLast = this.#isLast();
    response.write(queue, this.#server.arena, this, isLast);
    this.#onAnswered(status, isLast);
  }

  /** Responds without content. */
  respondEmpty(status: number, partition: number, sequence: number): void {
    this.send(this.#server.draft.begin(status, partition, sequence));
  }

  /** Responds with content and further header fields. Not for hot paths. */
  respond(status: number, contentType: Span, content: string | Buffer, fields?: Fields): void {
    const response = this.draft(status);
    response.contentType = contentType;
    response.content = Span.of(content);
    response.fields = fields;
    this.send(response);
  }

  /**
   * Refuses the request with the text of the table, in JSON, or without content if the text is only
   * for logs. `status` defaults to the table's.
   */
  refuse<Code extends RefusalCode>(
    code: Code,
    values: RefusalValues<Code>,
    fields?: Fields,
    status: number = REFUSALS[code].status,
  ): void {
    const text = refusalText(code, values);
    if (!isEmptyRefusal(code)) return this.refuseWith(code, text, status, fields);
    this.note(code, text);
    this.respondEmpty(status, NO_PARTITION, 0);
  }

  /** Refuses the request in JSON. The message names the faulty part and its value. */
  refuseWith(
    code: RefusalCode | ErrorCode,
    message: string,
    status: number,
    fields?: Fields,
  ): void {
    // A refusal with status 200, as the original's interface has, is not logged as one.
    if (status >= 400) this.note(code, message);
    this.respond(status, JSON_TYPE, JSON.stringify({ status: 'fail', message }), fields);
  }

  /** Records for logs that the response written next is a refusal. */
  note(code: RefusalCode | ErrorCode, reason: string): void {
    this.code = code;
    this.reason = reason;
  }

  /**
   * Begins a response whose content is written in pieces: chunked, or up to the end of the connection in
   * HTTP/1.0. Its request must be the only one under way, and is answered when the stream has ended. Until
   * then the client is watched. `onRoom` is called when more may be written after a write that returned
   * false.
   */
  stream(head: Response, onRoom: () => void): ResponseStream {
    if (this.isAnswered) assert.fail('a request is answered once');
    const { queue } = this;
    const { status } = head;
    const isChunked = this.head.version === 11;
    const isLast = !isChunked || this.#isLast();
    this.exchange = asUntimed(this.exchange);
    if (queue !== undefined) {
      head.writeStreamHead(queue, this.#server.arena, this, isLast);
    } else assert(this.isAbandoned, 'a stream begins after all earlier responses');
    this.#state |= WATCHED | DIRTY;
    this.#stream = new ResponseStream(this, this.#server, queue !== undefined, onRoom, () => {
      this.queue?.complete(this.exchange | status, this);
      this.#onAnswered(status, isLast);
    });
    return this.#stream;
  }

  /** Reports a fault of the member. If the request of that number is unanswered, it is answered 500. */
  fail(error: unknown, number: number): void {
    this.#onFailed(error, number === this.number);
  }

  /**
   * Lets the request wait for an item until its client disconnects. Only its path is retained, and the
   * client is watched. False: the budget for bytes in flight has no room for the path; refuse the request.
   */
  awaitItem(): boolean {
    this.#state |= WATCHED | DIRTY;
    this.body.end();
    const { head, longBytes } = this;
    head.retainPath();
    if (this.#is(RETAINS_BYTES) && head.target.bytes === longBytes?.bytes) {
      this.longBytes = undefined;
      this.#retainHead();
    }
    if (this.#connection?.onItemAwaited(this) !== false) return true;
    this.#state &= ~WATCHED;
    return false;
  }

  // The life of the request, for its connection.

  /** Admits a request with content: the content is invited, or the request refused and it is dropped. */
  onHead(hasRest: boolean): void {
    this.#state |= BODY_PENDING | DIRTY;
    if (!this.#admit()) return;
    if (!hasRest && expectsContinue(this.head)) this.#state |= INVITING;
  }

  /** Called when the request is complete. Returns whether to run it; otherwise it has been refused. */
  complete(): boolean {
    return this.isBodyPending ? this.#acceptContent() : this.#admit();
  }

  run(): void {
    if ((this.#state & (BEGUN | TAKEN)) !== TAKEN) assert.fail('a request runs once');
    this.#state |= BEGUN | RUNNING;
    try {
      this.handler.run();
    } catch (error) {
      this.#onFailed(error, true);
    }
    this.#state &= ~RUNNING;
    if (this.#connection === undefined) this.#leave();
  }

  /** Copies the bytes of the request, because it outlives its turn. */
  retainBytes(): void {
    if (this.#is(RETAINS_BYTES)) return;
    this.beganMs = this.#server.nowMs;
    this.exchange = asLate(this.exchange);
    const { head } = this;
    if (head.hasBody) this.body.retain(this.#places);
    this.#retainHead();
  }

  /**
   * Refuses the request because its bytes are invalid or late: answers it, unless it has been answered, and
   * ends the connection. `isParsed`: whether the parser refused the bytes. `parserReason`: its reason.
   */
  refuseBytes(failure: failures.ReadFailure, isParsed: boolean, parserReason: () => string): void {
    const code = failures.codeOf(failure);
    this.#state |= DIRTY;
    this.head.keepAlive = false;
    if (code === undefined || (this.isBodyPending && this.isAnswered)) return;
    if (!this.isBodyPending || isParsed) this.#state |= UNREADABLE;
    else this.#state &= ~UNREADABLE;
    this.isAnswered = false;
    if (this.#is(UNREADABLE)) {
      this.exchange = NO_REQUEST;
      this.head.releaseHead();
    }
    const { observe, limits } = this.#server;
    const { status } = REFUSALS[code];
    if (!isEmptyRefusal(code)) {
      this.refuseWith(code, failures.reasonOf(failure, limits), status);
      return;
    }
    if (observe !== undefined) {
      const isFromParser = failure === failures.NOT_A_REQUEST;
      this.note(code, isFromParser ? parserReason() : failures.reasonOf(failure, limits));
    }
    this.respondEmpty(status, NO_PARTITION, 0);
  }

  /** Checks content that is being received. Returns whether more of it is unwanted than may be read. */
  checkBody(): boolean {
    const { body } = this;
    const { nowMs } = this.#server;
    if (!body.isUnderWay) body.enterBudget(nowMs, this);
    else body.recordProgress(nowMs);
    if (!this.isAnswered) {
      if (body.isDropped) refuseContent(this, this.#server);
      else this.invite();
    }
    return this.isAnswered && body.announced > DROPPED_CONTENT_BYTES_MAX;
  }

  /** Writes `100 Continue`, once, if the client waits for it and all earlier responses are written. */
  invite(): void {
    if (!this.isInviting || this.#is(INVITED) || this.isAnswered) return;
    const { queue } = this;
    if (!this.body.isUnderWay || queue === undefined) return;
    this.#state |= INVITED;
    queue.begin(CONTINUE.length, NO_PARTITION, 0);
    this.#server.arena.writeText(CONTINUE);
    queue.end();
  }

  /** Expects the content from now on, whether it was invited or not. */
  uninvite(): void {
    this.#state &= ~INVITING;
  }

  /** Abandons the request of a disconnected client; its response is dropped. */
  abandon(): void {
    this.#connection = undefined;
    this.#stream?.drop();
    this.#removeBuffered()?.drop();
    if (!this.#is(RUNNING)) this.#leave();
  }

  /** Writes the response or `100 Continue` of a request still being read, which is now first in order. */
  onFirst(): void {
    if (this.#buffered !== undefined) this.sendBuffered();
    else this.invite();
  }

  /** Makes a request that waits for a condition respond now, as its client sends nothing more. */
  finishNow(): void {
    try {
      this.handler.finishNow();
    } catch (error) {
      this.#onFailed(error, true);
    }
  }

  /**
   * Writes the buffered response, which is now the first in order. If it delivers an item and the client has
   * ended its side and may not read it, the response is 204 and the item returns.
   */
  sendBuffered(): void {
    const response = this.#removeBuffered();
    if (response === undefined) return;
    this.isAnswered = false;
    if (response.hold === undefined || !this.session.hasInputEnded) return this.send(response);
    response.drop();
    this.respondEmpty(204, NO_PARTITION, 0);
  }

  /** Called when the content under way has to make room for others. */
  onCrowdedOut(): void {
    this.#connection?.onCrowdedOut();
  }

  /** Ends the request and returns the object to the pool. */
  free(): void {
    if (!this.#is(TAKEN)) assert.fail('a request is freed once');
    this.reset();
    this.#state = 0;
    this.#connection = undefined;
    this.#onFree(this);
  }

  /** Ends the request and prepares the object for the next one of the connection. */
  reset(): void {
    if (this.#is(DIRTY)) this.#clean();
    this.#state = TAKEN;
  }

  /** Releases the bytes of the head, which the handler may refer to as well. */
  releaseHead(): void {
    this.head.releaseHead();
    this.handler.release();
  }

  /** Frees the places of an object that is discarded. */
  release(): void {
    this.#places.release(this);
    this.body.release(this.#places);
  }

  // The part that a stream uses.

  /** Called when bytes of a stream have been written and have to be sent. */
  onStreamed(): void {
    this.#connection?.onStreamed();
  }

  /** Called when the connection has to end at the present point of the stream. */
  onCut(): void {
    this.#connection?.destroy();
  }

  /** Notifies the stream, if the response is one and there is room for more of it. */
  offerRoom(): void {
    this.#stream?.offerRoom();
  }

  /** Whether the response written next is the connection's last. */
  #isLast(): boolean {
    if (!this.head.keepAlive) return true;
    const { isDraining } = this.#server;
    if (!this.isBodyPending && !isDraining) return false;
    const connection = this.#connection;
    if (connection === undefined || !connection.isNewest(this)) return false;
    const isCutShort = this.isBodyPending && endsInsteadOfDropping(this.head, connection.hasUnread);
    return isCutShort || (isDraining && connection.isEnding);
  }

  /** Called when the response has been written. */
  #onAnswered(status: number, isLast: boolean): void {
    this.isAnswered = true;
    const { head } = this;
    const { observe } = this.#server;
    if (observe !== undefined) observe(status, this.#is(UNREADABLE) ? undefined : head, this);
    if (status >= 400) this.#clearRefusal();
    if (this.isBodyPending) this.body.drop();
    else if (head.hasBody) this.body.end();
    if (this.#connection !== undefined) this.#connection.onAnswered(this, isLast);
    else if (!this.#is(RUNNING)) this.free();
  }

  /** Buffers a response that is not next in order; drops it if the client has disconnected. */
  #buffer(response: Response): void {
    this.isAnswered = true;
    if (this.#connection === undefined) {
      response.drop();
      this.#state |= DIRTY;
      if (!this.#is(RUNNING)) this.free();
      return;
    }
    this.#buffered = response.copy();
    this.#server.inFlight.overdraw(this.bufferedBytes);
    this.#connection.onBuffered(this);
  }

  /** Removes and returns the buffered response. */
  #removeBuffered(): Response | undefined {
    const response = this.#buffered;
    if (response !== undefined) this.#server.inFlight.release(response.content.length);
    this.#buffered = undefined;
    return response;
  }

  /**
   * Reports a fault of the member and answers the request 500. The connection ends, unless the request is
   * under way, as later ones may have begun. `isPresent`: whether it is a fault of the present request.
   */
  #onFailed(error: unknown, isPresent: boolean): void {
    this.#server.onFailure(error);
    if (!isPresent || this.isAnswered) return;
    this.#state |= DIRTY;
    if ((this.#state & (BEGUN | RUNNING)) !== BEGUN) this.head.keepAlive = false;
    this.refuse('FAILED', {});
  }

  #retainHead(): void {
    const { head } = this;
    const { headBytes } = head;
    const bits = headBytes > PLACE_BYTES ? RETAINS_BYTES | LONG_HEAD : RETAINS_BYTES;
    this.#state = (this.#state & ~LONG_HEAD) | bits;
    if (this.#places.begin(this, headBytes)) this.#state |= DIRTY;
    head.retainHead(this.#places);
  }

  #clean(): void {
    this.body.end();
    endRetention(this);
    this.releaseHead();
    this.#responseLines = '';
    this.#stream = undefined;
    this.isAnswered = true;
    this.#clearRefusal();
  }

  /** Clears the refusal after it has been logged. */
  #clearRefusal(): void {
    this.code = '';
    this.reason = '';
  }

  /** Frees the object of an abandoned request, or makes the request respond now if it is running. */
  #leave(): void {
    this.#state |= DIRTY;
    if (!this.#is(BEGUN) || this.isAnswered) return this.free();
    this.retainBytes();
    this.finishNow();
  }

  /** Accepts the complete content. Returns whether to run the request; otherwise it has been answered. */
  #acceptContent(): boolean {
    const { body } = this;
    this.#state &= ~BODY_PENDING;
    body.complete();
    if (this.isAnswered) return false;
    if (!body.isDropped) return true;
    refuseContent(this, this.#server);
    return false;
  }

  /** Admits the request. Returns whether to run it; otherwise it has been answered. */
  #admit(): boolean {
    this.isAnswered = false;
    this.exchange = exchangeOf(0, this.head.method);
    if (this.head.escaped || this.head.occurrenceBytes > 0) this.#state |= DIRTY;
    if (this.head.hasBody) this.body.limit();
    try {
      if (!this.handler.admit()) return false;
    } catch (error) {
      this.#onFailed(error, true);
      return false;
    }
    return passesContentChecks(this);
  }

  #is(bit: number): boolean {
    return (this.#state & bit) !== 0;
  }
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
/** Content type of JSON responses. */
export const JSON_TYPE = Span.of('application/json');
