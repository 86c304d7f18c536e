/**
 * Handles the request of a slot: finds the route, makes the checks in their order (escapes,
 * unserved methods, group, resource, method, OPTIONS), runs the action and converts the engine's
 * result to the response. The handler is reused for every request of the slot, so that a request
 * allocates nothing. Tested by dialect.spec.ts.
 */
import assert from 'node:assert';
import type { Span } from '../base/span.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import { pathOf } from '../config/settings.ts';
import { QueuePoll } from '../data/queue-poll.ts';
import type { OperationResult } from '../engine/engine.ts';
import type { RequestHandler } from '../http/application.ts';
import type { Exchange } from '../http/exchange.ts';
import {
  allowedMethods,
  GET,
  isServedMethod,
  methodBit,
  methodName,
  OPTIONS,
  POST,
  PUT,
} from '../http/methods.ts';
import type { AccessControl } from '../security/access-control.ts';
import type { Grants } from '../security/permissions.ts';
import { OPENED_VALUE } from './cross-origin-policy.ts';
import { Login, type LoginCall } from './login.ts';
import { NOT_APPLIED, RETRY_LATER, respondOutcome } from './outcome-response.ts';
import { hasValidEscapes } from './percent-decoding.ts';
import type { Endpoint, Match } from './route-compiler.ts';
import type { PathParts, RouteFinder } from './router.ts';
import type { RestServices } from './services.ts';

export class RestHandler implements RequestHandler, LoginCall, PathParts {
  readonly exchange: Exchange;
  /** The poll; created by the slot's first request that polls. */
  #poll: QueuePoll | undefined;
  isExclusive = true;
  /** Whether the request's credentials must still be checked. */
  #needsLoginCheck = false;
  #endpoint: Endpoint | undefined;
  readonly services: RestServices;
  readonly #router: RouteFinder;
  nameStart = 0;
  nameEnd = 0;
  keyStart = 0;
  keyEnd = 0;

  constructor(exchange: Exchange, router: RouteFinder, services: RestServices) {
    this.exchange = exchange;
    this.services = services;
    this.#router = router;
  }

  get name(): Span {
    return this.services.data.name.read(this.exchange.request, this.nameStart, this.nameEnd);
  }

  get key(): Span {
    return this.services.data.key.read(this.exchange.request, this.keyStart, this.keyEnd);
  }

  admit(): boolean {
    const { exchange, services } = this;
    const { request } = exchange;
    const { target, method, browser } = request;
    if (browser !== undefined) services.access.crossOrigin.begin(browser);
    if (request.escaped && !hasValidEscapes(target.bytes, target.start, request.pathEnd)) {
      return this.#refuse('ESCAPE_INVALID');
    }
    if (!isServedMethod(method)) return this.#refuse('METHOD_NOT_SERVED');
    if (target.bytes[target.start] === ASTERISK) {
      exchange.respond(204, '', '', { Allow: EVERY_METHOD });
      return false;
    }
    this.nameStart = this.nameEnd = this.keyStart = this.keyEnd = 0;
    this.#endpoint = undefined;
    this.isExclusive = true;
    const match = this.#router.match(request, this);
    if (match === undefined) return this.#refuseUnknown();
    const { groups } = services.access;
    if ((groups.enabled & match.groupBits) === 0) {
      return this.#refuseGroup(match.group);
    }
    const endpoint = match.endpoints[method];
    if (endpoint === undefined) return this.#refuseMethod(match);
    this.#endpoint = endpoint;
    if (endpoint.furtherContentBytes > 0) exchange.permitContent(endpoint.furtherContentBytes);
    const login = this.#loginFor(endpoint);
    this.#needsLoginCheck = login !== undefined && this.#mustLogIn(login, endpoint);
    this.isExclusive = this.#mustBeExclusive(endpoint);
    if (!services.cluster.isStarted && !match.isServedWhileStarting)
      return this.#refuseWhileStarting();
    if (browser === undefined && request.unservedHost === undefined) return true;
    return this.#admitPage(match, endpoint);
  }

  run(): void {
    const endpoint = this.#admitted();
    const login = this.#loginFor(endpoint);
    if (login === undefined || !needsUser(endpoint, login)) return this.work(undefined);
    Login.of(this.exchange, login).authenticate(this, !this.#needsLoginCheck);
  }

  work(grants: Grants | undefined): void {
    const endpoint = this.#admitted();
    if (grants !== undefined && !this.#isGranted(grants, endpoint)) this.#refuseUser();
    else if (endpoint.changesData && !this.services.cluster.acceptsWrites) {
      this.#refuseChange(this.describe());
    } else if (!this.#refuseForMemory(endpoint)) endpoint.run(this);
  }

  poll(timeoutMs: number): void {
    this.#poll ??= new QueuePoll(this, () => this.#refuseChange('wait for an item'));
    this.#poll.begin(this.name, timeoutMs);
  }

  await<Value>(promise: Promise<Value>, proceed: (value: Value) => void): void {
    const { exchange } = this;
    const { number } = exchange;
    promise.then(proceed).catch((error: unknown) => exchange.fail(error, number));
  }

  describe(): string {
    const { pathEnd, target } = this.exchange.request;
    return this.#describe(pathEnd - target.start);
  }

  describeAction(): string {
    const hidesItem = this.#endpoint?.operation.audited === 'name';
    return hidesItem ? this.#describe(this.nameEnd) : this.describe();
  }

  finishNow(): void {
    this.#poll?.finishNow();
  }

  onResult(answer: OperationResult): void {
    const { exchange } = this;
    const { number } = exchange;
    try {
      respondOutcome(exchange, answer, this.#poll?.onResult(answer), this);
    } catch (error) {
      exchange.fail(error, number);
    }
  }

  /**
   * Whether Host and the page that a browser sends the request for are allowed; otherwise refuses
   * the request.
   */
  #admitPage(match: Match, { kind, changesData }: Endpoint): boolean {
    const { exchange } = this;
    const { browser, method, unservedHost } = exchange.request;
    if (unservedHost !== undefined && match.group !== 'HEALTH_CHECK') {
      const setting = pathOf('allowedHosts');
      exchange.refuse('HOST_NOT_ALLOWED', { host: unservedHost, setting });
      return false;
    }
    if (browser === undefined) return true;
    if (this.services.access.crossOrigin.refuses(browser, method === GET && !changesData)) {
      this.#refusePage(browser.origin);
      return false;
    }
    if (browser.opensDocument && kind !== undefined) browser.responseLines += OPENED_VALUE;
    return true;
  }

  #refusePage(origin: string | undefined): void {
    const setting = pathOf('corsAllowedOrigins');
    if (origin === undefined) this.exchange.refuse('SITE_NOT_ALLOWED', { setting });
    else this.exchange.refuse('ORIGIN_NOT_ALLOWED', { origin, setting });
  }

  /** Returns the endpoint that `admit` found for the request. */
  #admitted(): Endpoint {
    if (this.#endpoint === undefined) assert.fail('the request was admitted');
    return this.#endpoint;
  }

  /** Returns the method and the first `length` bytes of the target. */
  #describe(length: number): string {
    const { request } = this.exchange;
    return `${methodName(request.method)} ${request.targetText(length)}`;
  }

  /**
   * Refuses the request if there is no memory for its response: a value received from servers
   * occupies memory until the client has read it.
   */
  #refuseForMemory({ kind, changesData, mayWait }: Endpoint): boolean {
    if (!this.services.data.isShared || kind === undefined || (changesData && !mayWait))
      return false;
    const bytesMax = this.exchange.usedUpBytes;
    if (bytesMax > 0) this.exchange.refuse('NO_ROOM_FOR_ANSWERS', { bytesMax }, NOT_APPLIED);
    return bytesMax > 0;
  }

  /**
   * Whether no other request of the connection may run together with this one. Consecutive reads of
   * maps and queues may run together; on an ordered engine changes may as well. Everything else
   * runs exclusively: a poll that may wait, a login that is computed, another path.
   */
  #mustBeExclusive({ kind, changesData, mayWait }: Endpoint): boolean {
    if (kind === undefined) return true;
    if (changesData && !this.services.data.engine.isOrdered) return true;
    return (mayWait && !this.#isKeyZero()) || this.#needsLoginCheck;
  }

  /** Whether the last part of the path is `0`: a poll that does not wait. */
  #isKeyZero(): boolean {
    const { bytes, start } = this.exchange.request.target;
    return this.keyEnd === this.keyStart + 1 && bytes[start + this.keyStart] === DIGIT_0;
  }

  #loginFor({ needsMember }: Endpoint): AccessControl | undefined {
    const { access } = this.services;
    return needsMember ? access.memberLogin : access.login;
  }

  #mustLogIn(login: AccessControl, endpoint: Endpoint): boolean {
    if (!needsUser(endpoint, login)) return false;
    return !Login.of(this.exchange, login).isVerified(this.exchange.request.authorization);
  }

  #isGranted(grants: Grants, { kind, need }: Endpoint): boolean {
    return kind === undefined || grants.allow(kind, this.name, need);
  }

  #refuseUser(): void {
    const { login } = this.services.access;
    if (login !== undefined) Login.of(this.exchange, login).refuse(this);
  }

  #refuseWhileStarting(): false {
    const { isShared } = this.services.data;
    this.exchange.refuse(isShared ? 'JOINING' : 'RECOVERING', {}, RETRY_LATER);
    return false;
  }

  #refuse(code: PathRefusal): false {
    this.exchange.refuse(code, {});
    return false;
  }

  #refuseChange(what: string): void {
    const { cluster, dialect } = this.services;
    if (cluster.isCutOff)
      return this.exchange.refuse('MEMBER_CUT_OFF', { action: what }, NOT_APPLIED);
    const { passiveStatus } = dialect;
    this.exchange.refuse('CLUSTER_PASSIVE', { action: what }, undefined, passiveStatus);
  }

  #refuseGroup(group: EndpointGroup): false {
    const { groups } = this.services.access;
    if (!groups.isRestOn) return this.#refuseAll();
    this.exchange.refuse('GROUP_DISABLED', { group, setting: pathOf('endpointGroups', group) });
    return false;
  }

  #refuseAll(): false {
    this.exchange.refuse('REST_DISABLED', { setting: pathOf('restEnabled') });
    return false;
  }

  #refuseUnknown(): false {
    const { groups } = this.services.access;
    return groups.isRestOn ? this.#refuse('PATH_UNKNOWN') : this.#refuseAll();
  }

  /** Refuses or answers a request whose path has no action for the method. */
  #refuseMethod(match: Match): false {
    const { method } = this.exchange.request;
    if (match.missing !== '' && (method === POST || method === PUT)) {
      this.exchange.refuse('NAME_MISSING', { thing: match.missing });
      return false;
    }
    if (match.unknown === 400) return this.#refuse('PATH_WITHOUT_NAME');
    if (match.unknown === 404) return this.#refuse('PATH_UNKNOWN');
    if (method === OPTIONS) {
      const { browser } = this.exchange.request;
      const { crossOrigin } = this.services.access;
      const preflight = browser && crossOrigin.preflightFields(browser, match.allow);
      this.exchange.respond(204, '', '', { Allow: match.allow, ...preflight });
      return false;
    }
    if ((match.incomplete & methodBit(method)) !== 0) {
      return this.#refuse('PATH_INCOMPLETE');
    }
    const { allow } = match;
    const values = { action: this.describe(), methods: allow };
    this.exchange.refuse('METHOD_NOT_ALLOWED', values, { Allow: allow });
    return false;
  }
}

type PathRefusal =
  | 'ESCAPE_INVALID'
  | 'METHOD_NOT_SERVED'
  | 'PATH_INCOMPLETE'
  | 'PATH_UNKNOWN'
  | 'PATH_WITHOUT_NAME';

function needsUser(endpoint: Endpoint, login: AccessControl): boolean {
  const { needsUser, needsMember, needsUserForHealth } = endpoint;
  return needsUser || needsMember || (needsUserForHealth && login.coversHealth);
}

const DIGIT_0 = 0x30;
const ASTERISK = 0x2a;
const EVERY_METHOD = allowedMethods((1 << (OPTIONS + 1)) - 1);
