/**
 * A request from its first byte to its response: its bytes, its handler, and a response that waits for
 * earlier ones. Slots are pooled. A slot is reused only after its request has been answered.
 *
 *     free ─ read ─ run ─┬─────────────── answered, written ─ free
 *                 │      └─ under way ──┬─ answered, written ─ free
 *                 └ parked ─ run …      └─ answered, buffered ─ written ─ free
 *
 * A request answered while it runs retains no bytes: its spans refer to the input area of all connections.
 * A request that is parked or under way retains a copy of its bytes (`retainBytes`).
 * Tested by connection.spec.ts.
 */
import assert from 'node:assert';
import type { ViewedBytes } from '../base/copy-bytes.ts';
import { isEmptyRefusal, REFUSALS } from '../base/refusals.ts';
import type { RequestHandler } from './application.ts';
import { Body, type BodyOwner } from './body.ts';
import {
  DROPPED_BYTES_MAX,
  endsInsteadOfDropping,
  passesContentChecks,
  refuseContent,
} from './content-checks.ts';
import { type BufferedResponse, Exchange } from './exchange.ts';
import type { InFlightBudget } from './in-flight.ts';
import { CONNECT } from './methods.ts';
import * as failures from './read-failures.ts';
import { INDEPENDENT } from './response-delay.ts';
import type { ResponseQueue } from './response-queue.ts';
import type { ResponseStream } from './response-stream.ts';
import {
  type BytesRetainer,
  endRetention,
  NO_PLACE,
  PLACE_BYTES,
  type Places,
} from './retained-bytes.ts';
import type { SlotConnection } from './slot-connection.ts';
import type { SlotHost } from './slot-host.ts';
import * as state from './slot-state.ts';

export class RequestSlot extends Exchange implements BodyOwner, BytesRetainer {
  /** The connection of the request; undefined while free, and once the client has disconnected. */
  #connection: SlotConnection<RequestSlot> | undefined;
  #state = 0;
  readonly #host: SlotHost;
  readonly #onFree: (slot: RequestSlot) => void;
  #buffered: BufferedResponse | undefined;
  #stream: ResponseStream | undefined;
  readonly handler: RequestHandler;
  readonly body: Body;
  readonly #places: Places;
  /** The slot's number in the pool. */
  readonly poolNumber: number;
  place = NO_PLACE;
  longBytes: ViewedBytes | undefined;

  /** `onFree` is called when a request of the slot is over. */
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

  /** Begins a request of the connection. */
  begin(connection: SlotConnection<RequestSlot>): void {
    if (this.#state !== 0) assert.fail('a slot has one request');
    this.#state = state.TAKEN;
    this.#connection = connection;
    this.session = connection.session;
    this.number++;
  }

  /** Whether content has been announced and not completely received. */
  get isBodyPending(): boolean {
    return this.#is(state.BODY_PENDING);
  }

  /** Whether the client waits for `100 Continue`, or may not have received it yet. */
  get isInviting(): boolean {
    return this.#is(state.INVITING);
  }

  /** Whether the request waits for an item, so that its client is watched. */
  get awaitsItem(): boolean {
    return this.#is(state.AWAITS_ITEM);
  }

  /** Length of the head if its copy is in a buffer of its own, otherwise 0, in bytes. */
  get longHeadBytes(): number {
    return this.#is(state.LONG_HEAD) ? this.request.headBytes : 0;
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

  /** Whether nothing after the request may be read. */
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

  /** Whether the response is buffered until earlier ones have been written. */
  get isBuffered(): boolean {
    return this.#buffered !== undefined;
  }

  /** Bytes of the buffered response. */
  get bufferedBytes(): number {
    return this.#buffered?.bytes ?? 0;
  }

  /** Admits a request with content: the content is invited, or the request refused and it is dropped. */
  onHead(hasRest: boolean): void {
    this.#state |= state.BODY_PENDING | state.DIRTY;
    if (!this.#admit()) return;
    if (this.request.expectsContinue && !hasRest) this.#state |= state.INVITING;
  }

  /** Called when the request is complete. Returns whether to run it; otherwise it has been refused. */
  complete(): boolean {
    return this.isBodyPending ? this.#acceptContent() : this.#admit();
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

  /** Copies the bytes of the request, because it outlives its turn. */
  retainBytes(): void {
    if (this.#is(state.RETAINS_BYTES)) return;
    const { request } = this;
    if (request.hasBody) this.body.retain(this.#places);
    this.#retainHead();
  }

  #retainHead(): void {
    const { request } = this;
    const { headBytes } = request;
    const bits =
      headBytes > PLACE_BYTES ? state.RETAINS_BYTES | state.LONG_HEAD : state.RETAINS_BYTES;
    this.#state = (this.#state & ~state.LONG_HEAD) | bits;
    if (this.#places.begin(this, headBytes)) this.#state |= state.DIRTY;
    request.retainHead(this.#places);
  }

  /**
   * Refuses the request because its bytes are invalid or late: answers it, unless it has been answered, and
   * ends the connection. `isParsed`: whether the parser refused the bytes. `parserReason`: its reason.
   */
  refuseBytes(failure: failures.ReadFailure, isParsed: boolean, parserReason: () => string): void {
    const code = failures.codeOf(failure);
    this.#state |= state.ENDS_CONNECTION | state.DIRTY;
    if (code === undefined || (this.isBodyPending && this.isAnswered)) return;
    if (!this.isBodyPending || isParsed) this.#state |= state.UNREADABLE;
    else this.#state &= ~state.UNREADABLE;
    this.isAnswered = false;
    if (this.#is(state.UNREADABLE)) this.request.releaseHead();
    const { observe, limits } = this.#host;
    const { status } = REFUSALS[code];
    if (!isEmptyRefusal(code)) {
      this.refuseWith(code, failures.reasonOf(failure, limits), status);
      return;
    }
    if (observe !== undefined) {
      const isFromParser = failure === failures.NOT_A_REQUEST;
      this.note(code, isFromParser ? parserReason() : failures.reasonOf(failure, limits));
    }
    this.respondEmpty(status, INDEPENDENT, 0);
  }

  /** Checks content that is being received. Returns whether more of it is unwanted than may be read. */
  checkBody(): boolean {
    const { body } = this;
    const { nowMs } = this.#host;
    if (!body.isUnderWay) body.enterBudget(nowMs, this);
    else body.recordProgress(nowMs);
    if (!this.isAnswered) {
      if (body.isDropped) refuseContent(this, body, this.#host);
      else this.invite();
    }
    return this.isAnswered && body.announced > DROPPED_BYTES_MAX;
  }

  /** Writes `100 Continue`, once, if the client waits for it and all earlier responses are written. */
  invite(): void {
    if (!this.isInviting || this.#is(state.INVITED) || this.isAnswered) return;
    const { responses } = this;
    if (!this.body.isUnderWay || responses === undefined) return;
    this.#state |= state.INVITED;
    this.sendContinue(responses);
  }

  /** Expects the content from now on, whether it was invited or not. */
  uninvite(): void {
    this.#state &= ~state.INVITING;
  }

  /** Abandons the request of a disconnected client; its response is dropped. */
  abandon(): void {
    this.#connection = undefined;
    this.#stream?.drop();
    this.#removeBuffered()?.drop();
    if (!this.#is(state.RUNNING)) this.#leave();
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
      this.onFailed(error);
    }
  }

  /** Writes the buffered response, which is now the first in order. */
  sendBuffered(): void {
    this.#removeBuffered()?.send();
  }

  /**
   * Reports a fault of the member and answers the request 500. The connection ends, unless the request is
   * under way, as later ones may have begun.
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
    request.retainPath();
    if (this.#is(state.RETAINS_BYTES) && request.target.bytes === longBytes?.bytes) {
      this.longBytes = undefined;
      this.#retainHead();
    }
    if (this.#connection?.onItemAwaited(this) !== false) return true;
    this.#state &= ~state.AWAITS_ITEM;
    return false;
  }

  onAnswered(status: number, isLast: boolean): void {
    const { body, request } = this;
    const observed = this.#is(state.UNREADABLE) ? undefined : request;
    this.#host.observe?.(status, observed, this);
    if (status >= 400) this.clearRefusal();
    if (this.isBodyPending) body.drop();
    else if (request.hasBody) body.end();
    if (this.#connection !== undefined) this.#connection.onAnswered(this, isLast);
    else if (!this.#is(state.RUNNING)) this.free();
  }

  bufferResponse(response: BufferedResponse): void {
    if (this.#connection === undefined) {
      response.drop();
      this.#state |= state.DIRTY;
      if (!this.#is(state.RUNNING)) this.free();
      return;
    }
    this.#buffered = response;
    this.#host.inFlight.overdraw(response.bytes);
    this.#connection.onBuffered(this);
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

  /** Notifies the stream, if the response is one and there is room for more of it. */
  offerRoom(): void {
    this.#stream?.offerRoom();
  }

  /** Ends the request and returns the slot to the pool. */
  free(): void {
    if (!this.#is(state.TAKEN)) assert.fail('a slot is freed once');
    this.reset();
    this.#state = 0;
    this.#connection = undefined;
    this.#onFree(this);
  }

  /** Ends the request and prepares the slot for the next one of the connection. */
  reset(): void {
    if (this.#is(state.DIRTY)) this.#clean();
    this.#state = state.TAKEN;
  }

  /** Frees the places of a slot that is discarded. */
  release(): void {
    this.#places.release(this);
    this.body.release(this.#places);
  }

  #clean(): void {
    this.body.end();
    endRetention(this);
    this.request.releaseHead();
    this.request.browser = undefined;
    this.#stream = undefined;
    this.isAnswered = true;
    this.clearRefusal();
  }

  /** Frees the slot of an abandoned request, or makes the request respond now if it is running. */
  #leave(): void {
    this.#state |= state.DIRTY;
    if (!this.#is(state.BEGUN) || this.isAnswered) return this.free();
    this.retainBytes();
    this.finishNow();
  }

  /** Removes and returns the buffered response. */
  #removeBuffered(): BufferedResponse | undefined {
    const buffered = this.#buffered;
    if (buffered !== undefined) this.#host.inFlight.release(buffered.bytes);
    this.#buffered = undefined;
    return buffered;
  }

  /** Accepts the complete content. Returns whether to run the request; otherwise it has been answered. */
  #acceptContent(): boolean {
    const { body } = this;
    this.#state &= ~state.BODY_PENDING;
    body.complete();
    if (this.isAnswered) return false;
    if (!body.isDropped) return true;
    refuseContent(this, body, this.#host);
    return false;
  }

  /** Admits the request. Returns whether to run it; otherwise it has been answered. */
  #admit(): boolean {
    this.isAnswered = false;
    if (this.request.hasBody) this.body.limit();
    try {
      if (!this.handler.admit()) return false;
    } catch (error) {
      this.onFailed(error);
      return false;
    }
    return passesContentChecks(this, this.body);
  }

  #is(bit: number): boolean {
    return (this.#state & bit) !== 0;
  }
}
