/**
 * Handles the requests of one connection, one after the other: finds the route, keeps the doors in
 * their order (escapes, unserved methods, group, resource, method, OPTIONS), runs the action and
 * turns the engine's answer into the response. Used again for each request, so that nothing is
 * allocated for one.
 */
import { errorMessage } from '../base/errors.ts';
import { Span } from '../base/span.ts';
import {
  ABSENT,
  ANSWERED,
  type Answer,
  APPLIED,
  COUNTED,
  type Engine,
  FOUND,
  type Pin,
  QUEUE_FULL,
  type Receiver,
  VALUE_COPY_BYTES_MAX,
} from '../engine/engine.ts';
import { refusalCode } from '../engine/refusal-code.ts';
import { type Handover, INDEPENDENT, type RequestHandler } from '../http/application.ts';
import type { Exchange } from '../http/exchange.ts';
import {
  allowedMethods,
  isServedMethod,
  methodBit,
  methodName,
  OPTIONS,
  POST,
  PUT,
} from '../http/methods.ts';
import type { AccessControl } from '../security/access-control.ts';
import type { Grants } from '../security/permissions.ts';
import { Login } from './login.ts';
import { hasOnlyWholeEscapes, PercentDecoder } from './percent.ts';
import { offerFromPath } from './queues.ts';
import type { RouteAccess } from './route-access.ts';
import type { Match, PathParts } from './router.ts';
import type { Action } from './routes.ts';
import type { RestServices } from './services.ts';
import { TEXT_PLAIN } from './text-plain.ts';

/** How long a client should wait before it tries a write again that found no memory, in seconds. */
const RETRY_AFTER_SECONDS = 5;

export class RestHandler implements RequestHandler, Receiver, PathParts {
  readonly exchange: Exchange;
  readonly services: RestServices;
  readonly engine: Engine;
  /** Name of the map or queue of the request at hand. */
  readonly name = new Span();
  /** Its key, or the last part of a queue's path. */
  readonly key = new Span();
  nameStart = 0;
  nameEnd = 0;
  keyStart = 0;
  keyEnd = 0;
  #action: Action | undefined;
  /** The take that the request waits for. */
  #ticket = ANSWERED;
  /** Whether the engine was asked to take, so that what it finds is held. */
  #isTaking = false;
  #match: Match | undefined;
  /** Who the request is from, where anybody has to log in; made at the first such request. */
  #login: Login | undefined;
  /** Whether the request has bytes of its own. */
  #isKept = false;
  /** Whether the client has gone: nobody is answered any more. */
  isAbandoned = false;

  constructor(exchange: Exchange, services: RestServices) {
    this.exchange = exchange;
    this.services = services;
    this.engine = services.engine;
  }

  admit(): boolean {
    const { exchange, services } = this;
    const { request } = exchange;
    const { target, method } = request;
    if (request.escaped && !hasOnlyWholeEscapes(target.bytes, target.start, request.pathEnd)) {
      return this.#refuse(400, 'a bad escape in the path');
    }
    if (!isServedMethod(method)) return this.#refuse(501);
    if (target.bytes[target.start] === ASTERISK) {
      exchange.respondText(204, '', '', `Allow: ${EVERY_METHOD}\r\n`);
      return false;
    }
    this.nameStart = this.nameEnd = this.keyStart = this.keyEnd = 0;
    this.#isKept = false;
    const match = services.router.match(request, this);
    if (match === undefined) return this.#refuseUnknown();
    if ((services.groups.enabled & match.groupBits) === 0) {
      exchange.respondFailure(403, services.groups.refusal(match.group));
      return false;
    }
    this.#action = match.actions[method];
    if (this.#action === undefined) return this.#refuseMethod(match);
    this.#match = match;
    const isStarting = services.cluster.nodeState === 'STARTING';
    return !isStarting || match.isServedWhileStarting || this.#refuseWhileStarting();
  }

  run(): void {
    const { access } = this.services;
    if (access === undefined || !this.#asksForLogin(access)) return this.work(undefined);
    this.#login ??= new Login(this, access);
    this.#login.enter();
  }

  /** Does what is asked for; `grants` are those of the user, where one has to log in. */
  work(grants: Grants | undefined): void {
    const { method } = this.exchange.request;
    const { access } = this.#match as Match;
    if (!this.#isKept) this.#nameParts(this.services.decoder);
    if (grants !== undefined && !this.#isGranted(grants, access, method)) this.#login?.refuse();
    else if ((access.changes & methodBit(method)) !== 0 && !this.services.cluster.takesWrites) {
      this.#refuseChange(this.describeRequest());
    } else this.#action?.(this);
  }

  onWait(shift: number): void {
    this.#isKept = true;
    this.nameStart += shift;
    this.nameEnd += shift;
    this.keyStart += shift;
    this.keyEnd += shift;
    this.#nameParts(new PercentDecoder(this.exchange.request.target.length));
  }

  /** Waits for an item of the queue; the item is held until its answer is written. */
  take(timeoutMs: number): void {
    this.#isTaking = true;
    this.#ticket = this.engine.take(this.name, timeoutMs, this);
    if (this.#ticket === ANSWERED) return;
    this.services.waiting.add(this);
    this.exchange.awaitItem();
  }

  /**
   * Goes on with the request when the promise is settled; `goOnAlone` is for one whose client has gone
   * by then. A rejection is a fault of ours.
   */
  await<Value>(
    promise: Promise<Value>,
    goOn: (value: Value) => void,
    goOnAlone: (value: Value) => void,
  ): void {
    promise
      .then((value) => (this.isAbandoned ? goOnAlone(value) : goOn(value)))
      .catch((error: unknown) => {
        this.services.onFailure(error);
        const isOwed = !this.isAbandoned && !this.exchange.isAnswered;
        if (isOwed) this.exchange.respondEmpty(500, INDEPENDENT, 0);
      });
  }

  /** The cluster takes no changes any more: a poll that waits takes nothing. */
  endWait(): void {
    this.#cancel();
    this.#refuseChange('wait for an item');
  }

  /** Method and path of the request at hand, as sent. */
  describeRequest(): string {
    const { method, target, pathEnd } = this.exchange.request;
    return `${methodName(method)} ${target.bytes.toString('latin1', target.start, pathEnd)}`;
  }

  /** The same for the audit log, which holds no value: an item in the path is left out. */
  describeAction(): string {
    const { method, target, pathEnd } = this.exchange.request;
    const end = this.#action === offerFromPath ? this.nameEnd : pathEnd;
    return `${methodName(method)} ${target.bytes.toString('latin1', target.start, end)}`;
  }

  hurry(): void {
    if (this.#ticket === ANSWERED) return;
    this.#cancel();
    this.exchange.respondEmpty(204, INDEPENDENT, 0);
  }

  abandon(): void {
    this.isAbandoned = true;
    if (this.#ticket !== ANSWERED) this.#cancel();
  }

  onAnswer(answer: Answer): void {
    const isTaken = this.#isTaking;
    this.#isTaking = false;
    if (this.#ticket !== ANSWERED) this.#leaveWait();
    // What was taken is settled in any case, which is refused then.
    if (
      !isTaken &&
      this.services.hasPersistence &&
      this.services.isDoubtful(answer.partition, answer.sequence)
    ) {
      if (answer.hold !== 0) this.engine.conclude(answer.hold, false);
      return this.#respondUnknown();
    }
    switch (answer.outcome) {
      case FOUND:
        if (isTaken) this.#confirm(answer);
        else this.#respondValue(answer.value, answer.contentType, pinOf(answer), answer);
        return;
      case ABSENT:
        return this.exchange.respondEmpty(204, answer.partition, answer.sequence);
      case APPLIED:
        return this.exchange.respondEmpty(200, answer.partition, answer.sequence);
      case QUEUE_FULL:
        return this.exchange.respondEmpty(503, answer.partition, answer.sequence);
      case COUNTED:
        return this.#respondCount(answer);
      default:
        return this.#respondUnavailable(answer);
    }
  }

  /** Names the map or queue and the key as they are meant; the decoder keeps what is escaped. */
  #nameParts(decoder: PercentDecoder): void {
    const { target, escaped } = this.exchange.request;
    if (escaped) {
      decoder.reset();
      decoder.decode(target.bytes, this.nameStart, this.nameEnd, this.name);
      decoder.decode(target.bytes, this.keyStart, this.keyEnd, this.key);
    } else {
      this.name.set(target.bytes, this.nameStart, this.nameEnd);
      this.key.set(target.bytes, this.keyStart, this.keyEnd);
    }
  }

  #asksForLogin(access: AccessControl): boolean {
    const { logins, healthLogins } = (this.#match as Match).access;
    const asking = access.coversHealth ? logins | healthLogins : logins;
    return (asking & methodBit(this.exchange.request.method)) !== 0;
  }

  #isGranted(grants: Grants, { kind, needs }: RouteAccess, method: number): boolean {
    const need = needs[method];
    return kind === undefined || need === undefined || grants.allow(kind, this.name, need);
  }

  #cancel(): void {
    this.engine.cancel(this.#ticket);
    this.#leaveWait();
    this.#isTaking = false;
  }

  #leaveWait(): void {
    this.#ticket = ANSWERED;
    this.services.waiting.delete(this);
  }

  /** A taken item: gone for good once its client is there to be answered. */
  #confirm(answer: Answer): void {
    const { hold } = answer;
    const value = new Span().copyFrom(answer.value);
    const contentType = new Span().copyFrom(answer.contentType);
    const pin = pinOf(answer);
    this.engine.settle(hold, true, {
      onAnswer: (settled) => {
        if (settled.outcome === APPLIED) this.#respondValue(value, contentType, pin, settled);
        else {
          pin?.release();
          this.#respondUnavailable(settled);
        }
      },
    });
  }

  #respondValue(value: Span, contentType: Span, pin: Pin | undefined, answer: Answer): void {
    const { partition, sequence, hold } = answer;
    const handover = hold === 0 ? undefined : new Delivery(this.engine, hold);
    if (pin === undefined) {
      this.exchange.respondBytes(contentType, value, partition, sequence, handover);
    } else this.exchange.respondPinned(contentType, value, pin, partition, sequence, handover);
  }

  #respondCount(answer: Answer): void {
    const digits = Buffer.from(String(answer.count));
    this.key.set(digits, 0, digits.length);
    this.exchange.respondBytes(TEXT_PLAIN, this.key, answer.partition, answer.sequence);
  }

  #respondUnavailable(answer: Answer): void {
    const name = JSON.stringify(this.name.toBuffer().toString());
    const message = errorMessage(refusalCode(answer), { name });
    this.exchange.respondFailure(503, message, `Retry-After: ${RETRY_AFTER_SECONDS}\r\n`);
  }

  /** What is stored may be gone after a restart, so it is not shown. */
  #respondUnknown(): void {
    const message = errorMessage('OUTCOME_UNKNOWN', {});
    this.exchange.respondFailure(503, message, 'Grid-Outcome: unknown\r\n');
  }

  #refuseWhileStarting(): false {
    const message = 'Cannot serve this path yet: the member recovers its data';
    this.exchange.respondFailure(503, message, `Retry-After: ${RETRY_AFTER_SECONDS}\r\n`);
    return false;
  }

  /** `reason` is for logs, where the status does not tell. */
  #refuse(status: number, reason = ''): false {
    this.exchange.reason = reason;
    this.exchange.respondEmpty(status, INDEPENDENT, 0);
    return false;
  }

  #refuseChange(what: string): void {
    const message = errorMessage('CLUSTER_PASSIVE', { action: what });
    this.exchange.respondFailure(this.services.dialect.passiveStatus, message);
  }

  #refuseUnknown(): false {
    const { groups } = this.services;
    if (groups.isRestOn) return this.#refuse(404);
    this.exchange.respondFailure(403, groups.refusalOfAll);
    return false;
  }

  /** The path has no action for the method. */
  #refuseMethod(match: Match): false {
    const { method } = this.exchange.request;
    if (match.missing !== '' && (method === POST || method === PUT)) {
      this.exchange.respondFailure(400, match.missing);
      return false;
    }
    if (match.unknown !== 0) return this.#refuse(match.unknown);
    if (method === OPTIONS) {
      this.exchange.respondText(204, '', '', `Allow: ${match.allow}\r\n`);
      return false;
    }
    if ((match.incomplete & methodBit(method)) !== 0) {
      return this.#refuse(400, 'the path names too little for the method');
    }
    const message = `Cannot ${this.describeRequest()}: allowed are ${match.allow}`;
    this.exchange.respondFailure(405, message, `Allow: ${match.allow}\r\n`);
    return false;
  }
}

/** A polled item on its way to its client. */
class Delivery implements Handover {
  readonly #engine: Engine;
  readonly #hold: number;

  constructor(engine: Engine, hold: number) {
    this.#engine = engine;
    this.#hold = hold;
  }

  conclude(isThere: boolean): void {
    this.#engine.conclude(this.#hold, isThere);
  }
}

/** Keeps a long value in place while it is sent; short ones are copied. */
function pinOf(answer: Answer): Pin | undefined {
  return answer.value.length > VALUE_COPY_BYTES_MAX ? answer.pin() : undefined;
}

const ASTERISK = 0x2a;
const EVERY_METHOD = allowedMethods((1 << (OPTIONS + 1)) - 1);
