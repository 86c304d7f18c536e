/**
 * The request that a connection is at: from its head on until its handler runs. It is admitted by the
 * handler and by HTTP's own doors, its content is asked for, taken or refused, and whether its answer
 * is the connection's last is decided here. It knows no socket and no other request.
 */
import { INDEPENDENT, type RequestHandler } from './application.ts';
import type { BodyOwner } from './body.ts';
import { passesDoors, refuseForCrowd, refuseLength } from './doors.ts';
import type { Exchange } from './exchange.ts';
import { CONNECT } from './methods.ts';
import type { RequestParser } from './parser.ts';
import * as refusals from './refusals.ts';
import type { HttpServer } from './server.ts';

/** The most of an unwanted body that is read so that the connection can go on, in bytes. */
const DROPPED_BYTES_MAX = 1048576;

export class RequestAtHand {
  readonly #server: HttpServer;
  readonly #parser: RequestParser;
  readonly #exchange: Exchange;
  readonly #handler: RequestHandler;
  readonly #bodyOwner: BodyOwner;
  /** Whether it has content that has not come whole. */
  isBodyPending = false;
  /** Whether `100 Continue` is on its way. */
  isInviting = false;
  /** Whether its answer ends the connection. */
  isLast = false;
  /** Whether the bytes are no request, or not the whole head of one. */
  #isUnreadable = false;

  constructor(
    server: HttpServer,
    parser: RequestParser,
    exchange: Exchange,
    handler: RequestHandler,
    bodyOwner: BodyOwner,
  ) {
    this.#server = server;
    this.#parser = parser;
    this.#exchange = exchange;
    this.#handler = handler;
    this.#bodyOwner = bodyOwner;
  }

  /** Content is announced: it is asked for, or the request is refused and the content dropped. */
  onHead(): void {
    this.isBodyPending = true;
    this.isInviting = false;
    if (!this.#admit()) return;
    this.isInviting = this.#parser.request.expectsContinue && !this.#parser.hasRest;
  }

  /** It is complete: it runs, unless it has been refused. */
  run(): void {
    if (this.isBodyPending ? !this.#takeContent() : !this.#admit()) return;
    try {
      this.#handler.run();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** It outlives its turn: it keeps its own bytes, and a handler that knows it names them anew. */
  keep(isKnown: boolean): void {
    const { body, request } = this.#parser;
    body.keep();
    const shift = request.keepHead();
    if (isKnown) this.#handler.onWait(shift);
  }

  /** Its bytes are not to be taken, or not waited for: answered, unless it has been, and the end. */
  refuse(verdict: refusals.Verdict): void {
    const status = refusals.statusOf(verdict);
    this.isLast = true;
    if (status === 0 || (this.isBodyPending && this.#exchange.isAnswered)) return;
    this.#isUnreadable = !this.isBodyPending || this.#parser.refusal !== 0;
    this.#exchange.isAnswered = false;
    if (this.#server.observe !== undefined) this.#exchange.reason = this.#reasonOf(verdict);
    this.#exchange.respondEmpty(status, INDEPENDENT, 0);
  }

  /** Content is on its way: refused where it is too much. True: too much that nobody wants. */
  checkBody(): boolean {
    const { body } = this.#parser;
    const { nowMs } = this.#server;
    const isFirst = !body.isUnderWay;
    if (isFirst) body.stay(nowMs, this.#bodyOwner);
    else body.note(nowMs);
    if (!this.#exchange.isAnswered) {
      if (body.isDropped) this.#refuseContent();
      else if (isFirst && this.isInviting) this.#exchange.invite();
    }
    return this.#exchange.isAnswered && body.announced > DROPPED_BYTES_MAX;
  }

  /** `hasUnread`: whether bytes have come behind it. Where nothing more is to be read, it is the last. */
  decideLast(hasUnread: boolean): boolean {
    const server = this.#server;
    const { request } = this.#parser;
    if (!request.keepAlive || request.method === CONNECT) this.isLast = true;
    else if (this.isBodyPending && this.#isContentTooMuch(hasUnread)) this.isLast = true;
    else if (server.isDraining && (!hasUnread || server.isDrainOver)) this.isLast = true;
    return this.isLast;
  }

  /** It has been answered: what came of its content is let go of. */
  onAnswered(status: number): void {
    const { body, request } = this.#parser;
    this.#server.observe?.(status, this.#isUnreadable ? undefined : request, this.#exchange.reason);
    if (this.isBodyPending) body.drop();
    else if (request.hasBody) body.end();
  }

  /** Its content has come: whether it is to be run with that; otherwise it has been answered. */
  #takeContent(): boolean {
    const { body } = this.#parser;
    this.isBodyPending = false;
    body.complete();
    if (this.#exchange.isAnswered) return false;
    if (!body.isDropped) return true;
    this.#refuseContent();
    return false;
  }

  #reasonOf(verdict: refusals.Verdict): string {
    if (verdict === refusals.NO_REQUEST) return this.#parser.errorReason;
    return refusals.reasonOf(verdict, this.#server.limits);
  }

  /** Whether it is to be run; otherwise it has been answered. */
  #admit(): boolean {
    const exchange = this.#exchange;
    exchange.isAnswered = false;
    this.isLast = false;
    try {
      if (!this.#handler.admit()) return false;
    } catch (error) {
      this.#fail(error);
      return false;
    }
    return passesDoors(exchange, this.#server.limits);
  }

  /** Whether the connection rather ends than drops what is still to come. */
  #isContentTooMuch(hasUnread: boolean): boolean {
    const { contentLength, expectsContinue } = this.#parser.request;
    return contentLength > DROPPED_BYTES_MAX || (expectsContinue && !hasUnread);
  }

  #refuseContent(): void {
    const { inFlight, nowMs } = this.#server;
    if (this.#parser.body.isTooLong) refuseLength(this.#exchange, this.#server.limits);
    else refuseForCrowd(this.#exchange, inFlight, nowMs);
  }

  /** The handler threw: a fault of ours, and the end. */
  #fail(error: unknown): void {
    this.#server.onFailure(error);
    this.isLast = true;
    if (!this.#exchange.isAnswered) this.#exchange.respondEmpty(500, INDEPENDENT, 0);
  }
}
