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
import { isEmptyRefusal, REFUSALS } from '../base/refusals.ts';
import type { ViewedBytes } from '../base/short-copies.ts';
import { INDEPENDENT } from './answer-delay.ts';
import type { RequestHandler } from './application.ts';
import { Body, type BodyOwner } from './body.ts';
import { Exchange, type KeptResponse } from './exchange.ts';
import {
  DROPPED_BYTES_MAX,
  endsInsteadOfDropping,
  passesHeadChecks,
  refuseContent,
} from './head-checks.ts';
import type { InFlightBudget } from './in-flight.ts';
import { type BytesKeeper, endKept, NO_PLACE, type Places } from './kept-bytes.ts';
import { CONNECT } from './methods.ts';
import type { ResponseQueue } from './response-queue.ts';
import type { ResponseStream } from './response-stream.ts';
import type { SlotConnection } from './slot-connection.ts';
import type { SlotHost } from './slot-host.ts';
import * as state from './slot-state.ts';
import * as verdicts from './verdicts.ts';

export class RequestSlot extends Exchange implements BodyOwner, BytesKeeper {
  /** The connection of the request; undefined while it is free, and once the client has gone. */
  #connection: SlotConnection<RequestSlot> | undefined;
  #state = 0;
  readonly #host: SlotHost;
  readonly #onFree: (slot: RequestSlot) => void;
  #kept: KeptResponse | undefined;
  #stream: ResponseStream | undefined;
  readonly handler: RequestHandler;
  readonly body: Body;
  readonly #places: Places;
  /** Its number in the pool. */
  readonly poolNumber: number;
  place = NO_PLACE;
  longBytes: ViewedBytes | undefined;

  /** `onFree` is called when its request is over. */
  constructor(
    host: SlotHost,
    places: Places,
    poolNumber: number,
    onFree: (slot: RequestSlot) => void,
  ) {
    super(host.arena);
    this.#host = host;
    this.#places = places;
    this.poolNumber = poolNumber;
    this.#onFree = onFree;
    this.body = new Body(this.request.body, host.limits.bodyBytesMax, host.inFlight);
    this.handler = host.application.open(this);
  }

  /** A request of the connection begins. */
  begin(connection: SlotConnection<RequestSlot>): void {
    if (this.#state !== 0) assert.fail('a slot has one request');
    this.#state = state.TAKEN;
    this.#connection = connection;
    this.session = connection.session;
    this.number++;
  }

  /** Whether it has content that has not come whole. */
  get isBodyPending(): boolean {
    return this.#is(state.BODY_PENDING);
  }

  /** Whether `100 Continue` is on its way. */
  get isInviting(): boolean {
    return this.#is(state.INVITING);
  }

  /** Whether it waits for an item: its client is watched. */
  get awaitsItem(): boolean {
    return this.#is(state.AWAITS_ITEM);
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

  get usedUpBytes(): number {
    const { inFlight, nowMs } = this.#host;
    if (!inFlight.isFull) return 0;
    inFlight.relieve(nowMs);
    return inFlight.bytesMax;
  }

  permitContent(furtherBytes: number): void {
    this.body.permit(furtherBytes);
  }

  get responses(): ResponseQueue | undefined {
    return this.#connection?.responsesFor(this);
  }

  /** Whether nothing behind it is to be read. */
  get isFinal(): boolean {
    const { request } = this;
    return !request.keepAlive || request.method === CONNECT || this.#is(state.ENDS_CONNECTION);
  }

  get isLast(): boolean {
    if (this.isFinal) return true;
    if (!this.isBodyPending && !this.#host.isDraining) return false;
    const connection = this.#connection;
    if (connection === undefined || !connection.isNewest(this)) return false;
    const isCutShort =
      this.isBodyPending && endsInsteadOfDropping(this.request, connection.hasUnread);
    return isCutShort || (this.#host.isDraining && connection.isEnding);
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
    this.#state |= state.BODY_PENDING | state.DIRTY;
    if (!this.#admit()) return;
    if (this.request.expectsContinue && !hasRest) this.#state |= state.INVITING;
  }

  /** It is complete. Returns whether to run it; otherwise it has been refused. */
  complete(): boolean {
    return this.isBodyPending ? this.#takeContent() : this.#admit();
  }

  run(): void {
    if ((this.#state & (state.BEGUN | state.TAKEN)) !== state.TAKEN)
      assert.fail('a request runs once');
    this.#state |= state.BEGUN | state.RUNNING;
    try {
      this.handler.run();
    } catch (error) {
      this.onFailed(error);
    }
    this.#state &= ~state.RUNNING;
    if (this.#connection === undefined) this.#leave();
  }

  /** It outlives its turn: it has bytes of its own from now on. */
  own(): void {
    if (this.#is(state.OWNS_BYTES)) return;
    const { request } = this;
    if (request.hasBody) this.body.keep(this.#places);
    this.#keepHead();
  }

  #keepHead(): void {
    const { request } = this;
    this.#state |= state.OWNS_BYTES;
    if (this.#places.begin(this, request.headBytes)) this.#state |= state.DIRTY;
    request.keepHead(this.#places);
  }

  /**
   * Its bytes are refused, or not waited for: it is answered, unless it has been, and the connection
   * ends. `parserReason`: the parser's reason.
   */
  refuseBytes(verdict: verdicts.Verdict, isParsed: boolean, parserReason: () => string): void {
    const code = verdicts.codeOf(verdict);
    this.#state |= state.ENDS_CONNECTION | state.DIRTY;
    if (code === undefined || (this.isBodyPending && this.isAnswered)) return;
    if (!this.isBodyPending || isParsed) this.#state |= state.UNREADABLE;
    else this.#state &= ~state.UNREADABLE;
    this.isAnswered = false;
    if (this.#is(state.UNREADABLE)) this.request.forget();
    const { observe, limits } = this.#host;
    const { status } = REFUSALS[code];
    if (!isEmptyRefusal(code)) {
      this.refuseWith(code, verdicts.reasonOf(verdict, limits), status);
      return;
    }
    if (observe !== undefined) {
      const isParsers = verdict === verdicts.NOT_A_REQUEST;
      this.note(code, isParsers ? parserReason() : verdicts.reasonOf(verdict, limits));
    }
    this.respondEmpty(status, INDEPENDENT, 0);
  }

  /** Content is being sent: refused where it is too much. True: too much that is unwanted. */
  checkBody(): boolean {
    const { body } = this;
    const { nowMs } = this.#host;
    if (!body.isUnderWay) body.stay(nowMs, this);
    else body.note(nowMs);
    if (!this.isAnswered) {
      if (body.isDropped) refuseContent(this, body, this.#host);
      else this.invite();
    }
    return this.isAnswered && body.announced > DROPPED_BYTES_MAX;
  }

  /** Asks for the content, once, where the client waits for that and its turn has come. */
  invite(): void {
    if (!this.isInviting || this.#is(state.INVITED) || this.isAnswered) return;
    const { responses } = this;
    if (!this.body.isUnderWay || responses === undefined) return;
    this.#state |= state.INVITED;
    this.sendContinue(responses);
  }

  /** The client is to send the content, whether it was invited or not. */
  uninvite(): void {
    this.#state &= ~state.INVITING;
  }

  /** The client has gone: the answer is dropped. */
  abandon(): void {
    this.#connection = undefined;
    this.#stream?.drop();
    this.#takeKept()?.drop();
    if (!this.#is(state.RUNNING)) this.#leave();
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
    if (!isPresent || this.isAnswered) return;
    this.#state |= state.DIRTY;
    if ((this.#state & (state.BEGUN | state.RUNNING)) !== state.BEGUN)
      this.#state |= state.ENDS_CONNECTION;
    this.refuse('FAILED', {});
  }

  awaitItem(): boolean {
    this.#state |= state.AWAITS_ITEM | state.DIRTY;
    this.body.end();
    const { request, longBytes } = this;
    request.keepPath();
    if (this.#is(state.OWNS_BYTES) && request.target.bytes === longBytes?.bytes) {
      this.longBytes = undefined;
      this.#keepHead();
    }
    if (this.#connection?.onItemAwaited(this) !== false) return true;
    this.#state &= ~state.AWAITS_ITEM;
    return false;
  }

  onAnswered(status: number, isLast: boolean): void {
    const { body, request } = this;
    const observed = this.#is(state.UNREADABLE) ? undefined : request;
    this.#host.observe?.(status, observed, this);
    if (status >= 400) this.forgetRefusal();
    if (this.isBodyPending) body.drop();
    else if (request.hasBody) body.end();
    if (this.#connection !== undefined) this.#connection.onAnswered(this, isLast);
    else if (!this.#is(state.RUNNING)) this.free();
  }

  keep(response: KeptResponse): void {
    if (this.#connection === undefined) {
      response.drop();
      this.#state |= state.DIRTY;
      if (!this.#is(state.RUNNING)) this.free();
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
    this.#state |= state.DIRTY;
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
    if (!this.#is(state.TAKEN)) assert.fail('a slot is freed once');
    this.renew();
    this.#state = 0;
    this.#connection = undefined;
    this.#onFree(this);
  }

  /** The request is over, and the slot gets the connection's next one. */
  renew(): void {
    if (this.#is(state.DIRTY)) this.#clean();
    this.#state = state.TAKEN;
  }

  /** The slot is not used any more. */
  release(): void {
    this.#places.release(this);
    this.body.release(this.#places);
  }

  #clean(): void {
    this.body.end();
    endKept(this);
    this.request.forget();
    this.request.browser = undefined;
    this.#stream = undefined;
    this.isAnswered = true;
    this.forgetRefusal();
  }

  /** Without a client: ends the request if it has not begun or is answered, else hurries it. */
  #leave(): void {
    this.#state |= state.DIRTY;
    if (!this.#is(state.BEGUN) || this.isAnswered) return this.free();
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
    this.#state &= ~state.BODY_PENDING;
    body.complete();
    if (this.isAnswered) return false;
    if (!body.isDropped) return true;
    refuseContent(this, body, this.#host);
    return false;
  }

  /** Returns whether to run it; otherwise it has been answered. */
  #admit(): boolean {
    this.isAnswered = false;
    if (this.request.hasBody) this.body.limit();
    try {
      if (!this.handler.admit()) return false;
    } catch (error) {
      this.onFailed(error);
      return false;
    }
    return passesHeadChecks(this, this.body);
  }

  #is(bit: number): boolean {
    return (this.#state & bit) !== 0;
  }
}
