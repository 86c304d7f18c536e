/**
 * Handles the request of a slot: finds the route, makes the checks in their order (escapes, unserved
 * methods, group, resource, method, OPTIONS), runs the action and turns the engine's answer into the
 * response. The handler is reused for each request of the slot, so that a request allocates nothing.
 */
import assert from 'node:assert';
import { errorMessage } from '../base/errors.ts';
import { Span } from '../base/span.ts';
import {
  ABSENT,
  ANSWERED,
  type Answer,
  APPLIED,
  CLOSED,
  COUNTED,
  type Engine,
  FOUND,
  LOST,
  NO_HOLD,
  NOBODY,
  QUEUE_FULL,
  type Receiver,
  UNKNOWN,
  UNREACHABLE,
  VALUE_COPY_BYTES_MAX,
} from '../engine/engine.ts';
import { refusalCode } from '../engine/refusal-code.ts';
import { INDEPENDENT, type ItemHold, type RequestHandler } from '../http/application.ts';
import type { Exchange, Fields } from '../http/exchange.ts';
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
import { offerFromPath, poll } from './queues.ts';
import type { RouteAccess } from './route-access.ts';
import type { Match, PathParts } from './router.ts';
import type { Action } from './routes.ts';
import type { RestServices } from './services.ts';
import { TEXT_PLAIN } from './text-plain.ts';

export class RestHandler implements RequestHandler, Receiver, PathParts {
  readonly exchange: Exchange;
  readonly services: RestServices;
  readonly engine: Engine;
  /** Name of the present request's map or queue. */
  readonly name = new Span();
  /** Its key, or the last part of a queue's path. */
  readonly key = new Span();
  nameStart = 0;
  nameEnd = 0;
  keyStart = 0;
  keyEnd = 0;
  #action: Action | undefined;
  /** The ticket of a take that is not answered yet. */
  #ticket = ANSWERED;
  #match: Match | undefined;
  isAlone = true;
  /** Whether a login is still to be computed. */
  #isLoginOpen = false;
  /** Whether the name and the key are named in bytes of the request's own. */
  #areNamed = false;

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
      exchange.respond(204, '', '', { Allow: EVERY_METHOD });
      return false;
    }
    this.nameStart = this.nameEnd = this.keyStart = this.keyEnd = 0;
    this.#areNamed = false;
    this.isAlone = true;
    const match = services.router.match(request, this);
    if (match === undefined) return this.#refuseUnknown();
    if ((services.groups.enabled & match.groupBits) === 0) {
      exchange.respondFailure(403, services.groups.refusal(match.group));
      return false;
    }
    this.#action = match.actions[method];
    if (this.#action === undefined) return this.#refuseMethod(match);
    this.#match = match;
    this.#isLoginOpen = services.access !== undefined && this.#mustLogIn(services.access);
    this.isAlone = this.#mustBeAlone(match.access, method);
    const isStarting = services.cluster.nodeState === 'STARTING';
    return !isStarting || match.isServedWhileStarting || this.#refuseWhileStarting();
  }

  run(): void {
    const { access } = this.services;
    if (access === undefined || !this.#asksForLogin(access)) return this.work(undefined);
    Login.of(this.exchange, access).enter(this, !this.#isLoginOpen);
  }

  /** Runs the action; `grants` are those of the user, where a login is required. */
  work(grants: Grants | undefined): void {
    const { method } = this.exchange.request;
    const { access } = this.#match as Match;
    if (!this.#areNamed) this.#nameParts(this.services.decoder);
    if (grants !== undefined && !this.#isGranted(grants, access, method)) this.#refuseUser();
    else if ((access.changes & methodBit(method)) !== 0 && !this.services.cluster.takesWrites) {
      this.#refuseChange(this.describeRequest());
    } else this.#action?.(this);
  }

  onOwned(shift: number): void {
    this.#areNamed = true;
    this.nameStart += shift;
    this.nameEnd += shift;
    this.keyStart += shift;
    this.keyEnd += shift;
    this.#nameParts(new PercentDecoder(this.exchange.request.target.length));
  }

  /** Takes an item of the queue, and waits for one up to `timeoutMs`. */
  take(timeoutMs: number): void {
    const ticket = this.engine.take(this.name, timeoutMs, this);
    if (ticket === ANSWERED) return;
    this.#ticket = ticket;
    this.services.waiting.add(this);
    if (timeoutMs > 0) this.exchange.awaitItem();
  }

  /** Continues with the request when the promise is settled. A rejection is a fault of the member. */
  await<Value>(promise: Promise<Value>, goOn: (value: Value) => void): void {
    const { exchange } = this;
    const { number } = exchange;
    promise.then(goOn).catch((error: unknown) => exchange.fail(error, number));
  }

  /** The cluster no longer takes changes: a poll that waits takes nothing. */
  endWait(): void {
    this.#cancel();
    this.#refuseChange('wait for an item');
  }

  /** Method and path of the present request, as sent. */
  describeRequest(): string {
    const { method, target, pathEnd } = this.exchange.request;
    return `${methodName(method)} ${target.bytes.toString('latin1', target.start, pathEnd)}`;
  }

  /** The same for the audit log, which has no values: an item in the path is left out. */
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

  onAnswer(answer: Answer): void {
    if (this.#ticket !== ANSWERED) this.#leaveWait();
    const { exchange } = this;
    const { number } = exchange;
    try {
      this.#respond(answer);
    } catch (error) {
      exchange.fail(error, number);
    }
  }

  #respond(answer: Answer): void {
    const { partition, sequence } = answer;
    switch (answer.outcome) {
      case FOUND:
        return this.#respondValue(answer);
      case ABSENT:
        return this.exchange.respondEmpty(204, partition, sequence);
      case APPLIED:
        return this.exchange.respondEmpty(200, partition, sequence);
      case QUEUE_FULL:
        return this.exchange.respondEmpty(503, partition, sequence);
      case COUNTED:
        return this.#respondCount(answer);
      default:
        return this.#respondFailure(answer);
    }
  }

  /** Sets `name` and `key` to their decoded bytes; decoded ones are in the decoder's buffer. */
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

  /**
   * Reads of maps and queues that follow one another may be under way together; on an ordered engine
   * changes may be, too. All else must be alone: a poll that may wait, a login that is computed,
   * another path.
   */
  #mustBeAlone({ kind, changes }: RouteAccess, method: number): boolean {
    if (kind === undefined) return true;
    const isChange = (changes & methodBit(method)) !== 0;
    if (isChange && (!this.engine.isOrdered || this.#mayWaitForItem)) return true;
    return this.#isLoginOpen;
  }

  /** Whether the request is a poll with a time limit other than 0. */
  get #mayWaitForItem(): boolean {
    const { bytes } = this.exchange.request.target;
    const isZero = this.keyEnd === this.keyStart + 1 && bytes[this.keyStart] === DIGIT_0;
    return this.#action === poll && !isZero;
  }

  #mustLogIn(access: AccessControl): boolean {
    const { exchange } = this;
    if (!this.#asksForLogin(access)) return false;
    return !Login.of(exchange, access).isKnown(exchange.request.authorization);
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
  }

  #leaveWait(): void {
    this.#ticket = ANSWERED;
    this.services.waiting.delete(this);
  }

  #respondValue(answer: Answer): void {
    const { value, contentType, partition, sequence } = answer;
    const hold = answer.hold === NO_HOLD ? undefined : new EngineHold(this.engine, answer.hold);
    if (value.length <= VALUE_COPY_BYTES_MAX) {
      this.exchange.respondBytes(contentType, value, partition, sequence, hold);
    } else {
      const pin = answer.pin();
      this.exchange.respondPinned(contentType, value, pin, partition, sequence, hold);
    }
  }

  #respondCount(answer: Answer): void {
    const digits = Buffer.from(String(answer.count));
    this.key.set(digits, 0, digits.length);
    this.exchange.respondBytes(TEXT_PLAIN, this.key, answer.partition, answer.sequence);
  }

  /** Answers with the reason why the engine has not done the operation, or does not know. */
  #respondFailure(answer: Answer): void {
    const { outcome, reason } = answer;
    const name = JSON.stringify(this.name.toBuffer().toString());
    const code = refusalCode(answer);
    if (code === undefined) assert.fail(`outcome ${outcome}`);
    const message = errorMessage(code, { name });
    const isNotApplied = (outcome === UNREACHABLE && reason !== CLOSED) || outcome === LOST;
    const fields = isNotApplied ? NOT_APPLIED : RETRY_LATER;
    this.exchange.respondFailure(503, message, outcome === UNKNOWN ? OUTCOME_UNKNOWN : fields);
  }

  #refuseUser(): void {
    const { access } = this.services;
    if (access !== undefined) Login.of(this.exchange, access).refuse(this);
  }

  #refuseWhileStarting(): false {
    const message = 'Cannot serve this path yet: the member recovers its data';
    this.exchange.respondFailure(503, message, RETRY_LATER);
    return false;
  }

  /** `reason` is for logs, where the status does not tell it. */
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

  /** Answers a request whose path has no action for the method. */
  #refuseMethod(match: Match): false {
    const { method } = this.exchange.request;
    if (match.missing !== '' && (method === POST || method === PUT)) {
      this.exchange.respondFailure(400, match.missing);
      return false;
    }
    if (match.unknown !== 0) return this.#refuse(match.unknown);
    if (method === OPTIONS) {
      this.exchange.respond(204, '', '', { Allow: match.allow });
      return false;
    }
    if ((match.incomplete & methodBit(method)) !== 0) {
      return this.#refuse(400, 'the path is incomplete for the method');
    }
    const message = `Cannot ${this.describeRequest()}: allowed are ${match.allow}`;
    this.exchange.respondFailure(405, message, { Allow: match.allow });
    return false;
  }
}

/** A taken item that is being delivered to its client. */
class EngineHold implements ItemHold {
  readonly #engine: Engine;
  readonly #hold: number;

  constructor(engine: Engine, hold: number) {
    this.#engine = engine;
    this.#hold = hold;
  }

  acknowledge(isDelivered: boolean): void {
    this.#engine.acknowledge(this.#hold, isDelivered, NOBODY);
  }
}

/** The wait before a client should try again, in seconds. */
const RETRY_AFTER_SECONDS = 5;
const RETRY_LATER: Fields = { 'Retry-After': String(RETRY_AFTER_SECONDS) };
const NOT_APPLIED: Fields = { 'Grid-Outcome': 'not-applied', ...RETRY_LATER };
const OUTCOME_UNKNOWN: Fields = { 'Grid-Outcome': 'unknown' };
const DIGIT_0 = 0x30;
const ASTERISK = 0x2a;
const EVERY_METHOD = allowedMethods((1 << (OPTIONS + 1)) - 1);
