/**
 * A request, from its first byte to its response: its bytes, its handler, and a response that waits for
 * its place. Slots come from a pool. One is reused only when its request is answered.
 *
 *     free ─ read ─ run ─┬─────────────── answered, written ─ free
 *                 │      └─ under way ──┬─ answered, written ─ free
 *                 └ parked ─ run …      └─ answered, kept ─ written ─ free
 *
 * One answered while it runs owns no bytes: its spans lie in the input of all connections. One that is
 * parked or under way has bytes of its own (`own`).
 */
import assert from 'node:assert';
import { REFUSALS } from '../base/refusals.ts';
import { INDEPENDENT } from './answer-delay.ts';
import type { RequestHandler } from './application.ts';
import { Body, type BodyOwner } from './body.ts';
import { Exchange, type ExchangeOwner, type KeptResponse } from './exchange.ts';
import {
  DROPPED_BYTES_MAX,
  endsInsteadOfDropping,
  passesHeadChecks,
  refuseContent,
} from './head-checks.ts';
import type { InFlightBudget } from './in-flight.ts';
import { CONNECT } from './methods.ts';
import { Request } from './request.ts';
import type { ResponseQueue } from './response-queue.ts';
import type { ResponseStream } from './response-stream.ts';
import type { Session } from './session.ts';
import type { SlotHost } from './slot-host.ts';
import * as verdicts from './verdicts.ts';

/** The parts of its connection that a slot uses. */
export interface SlotConnection {
  readonly session: Session;
  readonly mayWait: boolean;
  /** The responses for the response; undefined while others before it are owed. */
  responsesFor(slot: RequestSlot): ResponseQueue | undefined;
  /** Whether bytes have come that have not been read. */
  readonly hasUnread: boolean;
  /** Whether no request behind it has been read, also in part. */
  isNewest(slot: RequestSlot): boolean;
  onItemAwaited(): void;
  /** The response has been written; `isLast`: the connection ends after it. */
  onAnswered(slot: RequestSlot, isLast: boolean): void;
  /** The response waits for its place in the slot. */
  onKept(slot: RequestSlot): void;
  /** The content under way has to make room for others. */
  onCrowdedOut(): void;
  onStreamed(): void;
  destroy(): void;
}

export class RequestSlot implements ExchangeOwner, BodyOwner {
  readonly request = new Request();
  readonly body: Body;
  readonly exchange: Exchange;
  readonly handler: RequestHandler;
  readonly #host: SlotHost;
  readonly #onFree: (slot: RequestSlot) => void;
  /** The connection of the request; undefined while it is free, and once the client has gone. */
  #connection: SlotConnection | undefined;
  /** Whether it has a request, answered or not. */
  #isTaken = false;
  /** Whether it has content that has not come whole. */
  isBodyPending = false;
  /** Whether `100 Continue` is on its way. */
  isInviting = false;
  #isInvited = false;
  /** Whether it waits for an item: its client is watched. */
  awaitsItem = false;
  /** Whether its response ends the connection in any case. */
  #endsConnection = false;
  /** Whether the bytes are not a request, or not the whole head of one. */
  #isUnreadable = false;
  #hasBegun = false;
  #isRunning = false;
  #ownsBytes = false;
  /** Whether the handler was notified of that. */
  #isHandlerTold = false;
  /** Whether it differs from an unused slot in fields that a new request does not set. */
  #isDirty = false;
  #kept: KeptResponse | undefined;
  #stream: ResponseStream | undefined;

  /** `onFree` is called when its request is over. */
  constructor(host: SlotHost, onFree: (slot: RequestSlot) => void) {
    this.#host = host;
    this.#onFree = onFree;
    this.body = new Body(this.request.body, host.limits.bodyBytesMax, host.inFlight);
    this.exchange = new Exchange(this.request, host.arena, this);
    this.handler = host.application.open(this.exchange);
  }

  /** A request of the connection begins. */
  begin(connection: SlotConnection): void {
    if (this.#isTaken) assert.fail('a slot has one request');
    this.#isTaken = true;
    this.#connection = connection;
    this.exchange.session = connection.session;
    this.exchange.number++;
  }

  get isAbandoned(): boolean {
    return this.#connection === undefined;
  }

  get mayWait(): boolean {
    return this.#connection?.mayWait ?? false;
  }

  get inFlight(): InFlightBudget {
    return this.#host.inFlight;
  }

  relieve(): void {
    this.#host.inFlight.relieve(this.#host.nowMs);
  }

  get responses(): ResponseQueue | undefined {
    return this.#connection?.responsesFor(this);
  }

  /** Whether nothing behind it is to be read. */
  get isFinal(): boolean {
    const { request } = this;
    return !request.keepAlive || request.method === CONNECT || this.#endsConnection;
  }

  get isLast(): boolean {
    if (this.isFinal) return true;
    if (!this.isBodyPending && !this.#host.isDraining) return false;
    const connection = this.#connection;
    if (connection === undefined || !connection.isNewest(this)) return false;
    const { hasUnread } = connection;
    if (this.isBodyPending && endsInsteadOfDropping(this.request, hasUnread)) return true;
    return this.#host.isDraining && (!hasUnread || this.#host.isDrainOver);
  }

  /** Whether its response waits for its place. */
  get isKept(): boolean {
    return this.#kept !== undefined;
  }

  /** Bytes of the response that is kept. */
  get keptBytes(): number {
    return this.#kept?.bytes ?? 0;
  }

  /** Content is announced: it is asked for, or the request is refused and the content dropped. */
  onHead(hasRest: boolean): void {
    this.isBodyPending = true;
    this.#isDirty = true;
    this.#isInvited = false;
    if (!this.#admit()) return;
    this.isInviting = this.request.expectsContinue && !hasRest;
  }

  /** It is complete. Returns whether to run it; otherwise it has been refused. */
  complete(): boolean {
    return this.isBodyPending ? this.#takeContent() : this.#admit();
  }

  run(): void {
    if (this.#hasBegun || !this.#isTaken) assert.fail('a request runs once');
    this.#hasBegun = true;
    this.#isRunning = true;
    try {
      this.handler.run();
    } catch (error) {
      this.onFailed(error);
    }
    this.#isRunning = false;
    if (this.#connection === undefined) this.#leave();
  }

  /** It outlives its turn: it has bytes of its own from now on. */
  own(): void {
    let shift = 0;
    if (!this.#ownsBytes) {
      if (this.request.hasBody) this.body.keep();
      shift = this.request.keepHead();
    }
    this.#ownsBytes = true;
    if (this.exchange.isAnswered || this.#isHandlerTold) return;
    this.#isHandlerTold = true;
    this.handler.onOwned(shift);
  }

  /**
   * Its bytes are refused, or not waited for: it is answered, unless it has been, and the connection
   * ends. `parserReason`: the parser's reason.
   */
  refuse(verdict: verdicts.Verdict, isParsed: boolean, parserReason: () => string): void {
    const code = verdicts.codeOf(verdict);
    const { exchange } = this;
    this.#endsConnection = true;
    this.#isDirty = true;
    if (code === undefined || (this.isBodyPending && exchange.isAnswered)) return;
    this.#isUnreadable = !this.isBodyPending || isParsed;
    exchange.isAnswered = false;
    const { observe, limits } = this.#host;
    if (observe !== undefined) {
      const isParsers = verdict === verdicts.NOT_A_REQUEST;
      exchange.note(code, isParsers ? parserReason() : verdicts.reasonOf(verdict, limits));
    }
    exchange.respondEmpty(REFUSALS[code].status, INDEPENDENT, 0);
  }

  /** Content is being sent: refused where it is too much. True: too much that is unwanted. */
  checkBody(): boolean {
    const { body, exchange } = this;
    const { nowMs } = this.#host;
    if (!body.isUnderWay) body.stay(nowMs, this);
    else body.note(nowMs);
    if (!exchange.isAnswered) {
      if (body.isDropped) refuseContent(exchange, body, this.#host);
      else this.invite();
    }
    return exchange.isAnswered && body.announced > DROPPED_BYTES_MAX;
  }

  /** Asks for the content, once, where the client waits for that and its turn has come. */
  invite(): void {
    if (!this.isInviting || this.#isInvited || this.exchange.isAnswered) return;
    const { responses } = this;
    if (!this.body.isUnderWay || responses === undefined) return;
    this.#isInvited = true;
    this.exchange.invite(responses);
  }

  /** The client has gone: the answer is dropped. */
  abandon(): void {
    this.#connection = undefined;
    this.#stream?.drop();
    this.#takeKept()?.drop();
    if (!this.#isRunning) this.#leave();
  }

  /** Its turn to be answered has come while it is read: the answers it owes its client are written. */
  onTurn(): void {
    if (this.#kept !== undefined) this.sendKept();
    else this.invite();
  }

  /** The client sends no more, or has gone: a request that waits for a condition is answered now. */
  hurry(): void {
    try {
      this.handler.hurry();
    } catch (error) {
      this.onFailed(error);
    }
  }

  /** Its place has come: the response that was kept is written. */
  sendKept(): void {
    this.#takeKept()?.send();
  }

  /**
   * A fault of the member: the request is answered with 500. The connection ends, unless the request is
   * under way, as others may have begun behind it.
   */
  onFailed(error: unknown, isPresent = true): void {
    this.#host.onFailure(error);
    if (!isPresent || this.exchange.isAnswered) return;
    this.#endsConnection = !this.#hasBegun || this.#isRunning;
    this.#isDirty = true;
    this.exchange.refuse('FAILED', {});
  }

  onItemAwaited(): void {
    this.awaitsItem = true;
    this.#isDirty = true;
    this.body.end();
    this.#connection?.onItemAwaited();
  }

  onAnswered(status: number, isLast: boolean): void {
    const { body, request } = this;
    const observed = this.#isUnreadable ? undefined : request;
    this.#host.observe?.(status, observed, this.exchange);
    if (status >= 400) this.exchange.forgetRefusal();
    if (this.isBodyPending) body.drop();
    else if (request.hasBody) body.end();
    if (this.#connection !== undefined) this.#connection.onAnswered(this, isLast);
    else if (!this.#isRunning) this.free();
  }

  keep(response: KeptResponse): void {
    if (this.#connection === undefined) {
      response.drop();
      this.#isDirty = true;
      if (!this.#isRunning) this.free();
      return;
    }
    this.#kept = response;
    this.#host.inFlight.overdraw(response.bytes);
    this.#connection.onKept(this);
  }

  onCrowdedOut(): void {
    this.#connection?.onCrowdedOut();
  }

  onStream(stream: ResponseStream): void {
    this.#stream = stream;
    this.#isDirty = true;
  }

  onStreamed(): void {
    this.#connection?.onStreamed();
  }

  onCut(): void {
    this.#connection?.destroy();
  }

  /** Notifies the stream, if the response is one, where there is room for more of it. */
  offerRoom(): void {
    this.#stream?.offerRoom();
  }

  /** The request is over: the slot is free for another one. */
  free(): void {
    if (!this.#isTaken) assert.fail('a slot is freed once');
    this.renew();
    this.#isTaken = false;
    this.#connection = undefined;
    this.#onFree(this);
  }

  /** The request is over, and the slot gets the connection's next one. */
  renew(): void {
    if (this.#isDirty) this.#clean();
    else if (this.#ownsBytes) this.#disown();
  }

  #disown(): void {
    this.request.forgetHead();
    this.#ownsBytes = this.#isHandlerTold = false;
  }

  #clean(): void {
    this.#isDirty = false;
    this.body.end();
    this.#disown();
    this.isBodyPending = false;
    this.isInviting = false;
    this.awaitsItem = false;
    this.#endsConnection = false;
    this.#isUnreadable = false;
    this.#stream = undefined;
    this.exchange.isAnswered = true;
    this.exchange.forgetRefusal();
  }

  /** Without a client: ends the request if it has not begun or is answered, else hurries it. */
  #leave(): void {
    this.#isDirty = true;
    if (!this.#hasBegun || this.exchange.isAnswered) return this.free();
    this.own();
    this.hurry();
  }

  /** The response that was kept: it is not any more. */
  #takeKept(): KeptResponse | undefined {
    const kept = this.#kept;
    if (kept !== undefined) this.#host.inFlight.give(kept.bytes);
    this.#kept = undefined;
    return kept;
  }

  /** Its content has come. Returns whether to run it with that; otherwise it has been answered. */
  #takeContent(): boolean {
    const { body } = this;
    this.isBodyPending = false;
    body.complete();
    if (this.exchange.isAnswered) return false;
    if (!body.isDropped) return true;
    refuseContent(this.exchange, body, this.#host);
    return false;
  }

  /** Returns whether to run it; otherwise it has been answered. */
  #admit(): boolean {
    const { exchange } = this;
    exchange.isAnswered = false;
    this.#hasBegun = false;
    if (this.request.hasBody) this.body.limit();
    try {
      if (!this.handler.admit()) return false;
    } catch (error) {
      this.onFailed(error);
      return false;
    }
    return passesHeadChecks(exchange, this.body);
  }
}
