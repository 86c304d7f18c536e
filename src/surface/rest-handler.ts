/**
 * Handles a request: finds the route, makes the checks in their order (escapes,
 * unserved methods, group, resource, method, OPTIONS), runs the action and converts the engine's
 * result to the response. The handler is reused with its request object, so that a request
 * allocates nothing. Tested by dialect.spec.ts.
 */
import assert from 'node:assert';
import { NO_SPAN, Span } from '../base/span.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import { pathOf } from '../config/setting.ts';
import type { Engine, OperationResult } from '../engine/engine.ts';
import type { Application, RequestHandler } from '../http/application.ts';
import { AUTHORIZATION } from '../http/header-fields.ts';
import {
  allowedMethods,
  GET,
  isServedMethod,
  methodName,
  OPTIONS,
  POST,
  PUT,
} from '../http/methods.ts';
import type { Request } from '../http/request.ts';
import { asUntimed } from '../http/traffic-meter.ts';
import type { AccessControl } from '../security/access-control.ts';
import type { Grants } from '../security/permissions.ts';
import type { CountingAudit } from '../telemetry/audit.ts';
import type { Call, Wait } from './action.ts';
import { type CrossOriginPolicy, OPENED_VALUE } from './cross-origin-policy.ts';
import type { Dialect } from './dialect.ts';
import type { EndpointGroups } from './endpoint-groups.ts';
import { Login } from './login.ts';
import { type PageFields, pageFieldsOf } from './page-fields.ts';
import { hasValidEscapes, readPart } from './percent-decoding.ts';
import type { Endpoint, Resource } from './resource.ts';
import { NOT_APPLIED, RETRY_LATER } from './responses.ts';
import type { UnknownPath } from './route.ts';
import type { PathParts, RouteFinder } from './router.ts';
import { SURFACE_SETTINGS } from './surface-settings.ts';

/** Parts of the member that the checks need; one object for all connections. */
interface SurfaceParts {
  readonly dialect: Dialect;
  readonly cluster: Pick<Cluster, 'isStarted' | 'acceptsWrites' | 'isCutOff'>;
  readonly engine: Pick<Engine, 'isOrdered'>;
  /** Whether several members share the engine. */
  readonly isShared: boolean;
  readonly groups: EndpointGroups;
  readonly crossOrigin: CrossOriginPolicy;
  /** HTTP Basic of clients; undefined if no login is required. */
  readonly login: AccessControl | undefined;
  /**
   * HTTP Basic of other members, with the users that may administer; undefined if security is off.
   */
  readonly memberLogin: AccessControl | undefined;
  readonly audit: Pick<CountingAudit, 'write'>;
}

/** Returns the interface as an application of the HTTP server. */
export function restApplication(router: RouteFinder, parts: SurfaceParts): Application {
  return { open: (request) => new RestHandler(request, router, parts) };
}

export class RestHandler implements RequestHandler, Call, PathParts {
  readonly request: Request;
  wait: Wait | undefined;
  grants: Grants | undefined;
  isExclusive = true;
  /** Whether the request's credentials must still be checked. */
  #needsLoginCheck = false;
  #endpoint: Endpoint | undefined;
  readonly #parts: SurfaceParts;
  readonly #router: RouteFinder;
  nameStart = 0;
  nameEnd = 0;
  keyStart = 0;
  keyEnd = 0;
  readonly #name = new Span();
  readonly #key = new Span();
  /** The parts that have been decoded, as bits; only set if the path has escapes. */
  #decoded = 0;

  constructor(request: Request, router: RouteFinder, parts: SurfaceParts) {
    this.request = request;
    this.#parts = parts;
    this.#router = router;
  }

  get name(): Span {
    return this.#part(this.#name, NAME, this.nameStart, this.nameEnd);
  }

  get key(): Span {
    return this.#part(this.#key, KEY, this.keyStart, this.keyEnd);
  }

  get audit(): SurfaceParts['audit'] {
    return this.#parts.audit;
  }

  admit(): boolean {
    const { request } = this;
    const { crossOrigin, groups, cluster } = this.#parts;
    const { head } = request;
    const { target, method } = head;
    const page = pageFieldsOf(head);
    if (page !== undefined) request.addResponseLines(crossOrigin.responseLines(page));
    if (head.escaped && !hasValidEscapes(target.bytes, target.start, head.pathEnd)) {
      return this.#refuse('ESCAPE_INVALID');
    }
    if (!isServedMethod(method)) return this.#refuse('METHOD_NOT_SERVED');
    if (target.bytes[target.start] === ASTERISK) {
      request.respond(204, NO_SPAN, '', { Allow: EVERY_METHOD });
      return false;
    }
    this.nameStart = this.nameEnd = this.keyStart = this.keyEnd = 0;
    this.#endpoint = undefined;
    this.isExclusive = true;
    const resource = this.#router.match(head, this);
    if (resource === undefined) return this.#refusePath(undefined);
    request.exchange |= resource.exchange;
    if ((groups.enabled & resource.groupBits[method]!) === 0) {
      return this.#refusePath(resource.groups[method]);
    }
    const endpoint = resource.endpoints[method];
    if (endpoint === undefined) return this.#refuseMethod(resource, page);
    this.#endpoint = endpoint;
    if (endpoint.furtherContentBytes > 0) request.body.permit(endpoint.furtherContentBytes);
    const login = this.#loginFor(endpoint);
    this.#needsLoginCheck = login !== undefined && this.#mustLogIn(login, endpoint);
    const waits = endpoint.waits?.(this) === true;
    if (waits) request.exchange = asUntimed(request.exchange);
    this.isExclusive = this.#mustBeExclusive(endpoint, waits);
    if (!cluster.isStarted && !endpoint.isServedWhileStarting) return this.#refuseWhileStarting();
    if (page === undefined && head.unservedHost === undefined) return true;
    return this.#admitPage(endpoint, page);
  }

  run(): void {
    const endpoint = this.#admitted();
    const login = this.#loginFor(endpoint);
    if (login === undefined || !needsUser(endpoint, login)) return this.work(undefined);
    Login.of(this.request, login).authenticate(this, !this.#needsLoginCheck);
  }

  /** Runs the request, whose user is authenticated; `grants`: the user's permissions. */
  work(grants: Grants | undefined): void {
    const endpoint = this.#admitted();
    const { kind, need } = endpoint.permission;
    this.grants = grants;
    if (grants !== undefined && kind !== undefined && !grants.allow(kind, this.name, need))
      this.#refuseUser();
    else if (endpoint.changesData && !this.#parts.cluster.acceptsWrites) {
      this.refuseChange(this.describe());
    } else if (!this.#refuseForMemory(endpoint)) endpoint.run(this);
  }

  await<Value>(promise: Promise<Value>, proceed: (value: Value) => void): void {
    const { request } = this;
    const { number } = request;
    promise.then(proceed).catch((error: unknown) => request.fail(error, number));
  }

  describe(): string {
    const { pathEnd, target } = this.request.head;
    return this.#describe(pathEnd - target.start);
  }

  /** Returns method and path, as the audit log may show them. */
  describeAction(): string {
    const hidesItem = this.#endpoint?.audited === 'name';
    return hidesItem ? this.#describe(this.nameEnd) : this.describe();
  }

  finishNow(): void {
    this.wait?.finishNow();
  }

  onResult(answer: OperationResult): void {
    const { request } = this;
    const { number } = request;
    try {
      this.#admitted().respond(this, answer, this.wait?.onResult(answer));
    } catch (error) {
      request.fail(error, number);
    }
  }

  release(): void {
    this.#decoded = 0;
    this.#name.clear();
    this.#key.clear();
  }

  /** Returns a part of the path. It is decoded once. */
  #part(part: Span, bit: number, start: number, end: number): Span {
    const { head } = this.request;
    if (head.escaped) {
      if ((this.#decoded & bit) !== 0) return part;
      this.#decoded |= bit;
    }
    return readPart(head, start, end, part);
  }

  /**
   * Whether Host and the page that a browser sends the request for are allowed; otherwise refuses
   * the request.
   */
  #admitPage(
    { group, path, permission, changesData }: Endpoint,
    page: PageFields | undefined,
  ): boolean {
    const { request } = this;
    const { head } = request;
    const { method, unservedHost } = head;
    if (unservedHost !== undefined && group !== 'HEALTH_CHECK') {
      const setting = pathOf(SURFACE_SETTINGS.allowedHosts);
      request.refuse('HOST_NOT_ALLOWED', { host: unservedHost, setting });
      return false;
    }
    if (page === undefined) return true;
    if (this.#parts.crossOrigin.refuses(page, method === GET && !changesData)) {
      this.#refusePage(page.origin);
      return false;
    }
    // Values of `v1` always have these lines.
    const isValue = permission.kind !== undefined && !path.startsWith('v1/');
    if (page.opensDocument && isValue) request.addResponseLines(OPENED_VALUE);
    return true;
  }

  #refusePage(origin: string | undefined): void {
    const setting = pathOf(SURFACE_SETTINGS.corsAllowedOrigins);
    if (origin === undefined) this.request.refuse('SITE_NOT_ALLOWED', { setting });
    else this.request.refuse('ORIGIN_NOT_ALLOWED', { origin, setting });
  }

  /** Returns the endpoint that `admit` found for the request. */
  #admitted(): Endpoint {
    if (this.#endpoint === undefined) assert.fail('the request was admitted');
    return this.#endpoint;
  }

  /** Returns the method and the first `length` bytes of the target. */
  #describe(length: number): string {
    const { head } = this.request;
    return `${methodName(head.method)} ${head.targetText(length)}`;
  }

  /**
   * Refuses the request if there is no memory for its response: a value received from servers
   * occupies memory until the client has read it.
   */
  #refuseForMemory({ permission, changesData, mayWait }: Endpoint): boolean {
    if (!this.#parts.isShared || permission.kind === undefined || (changesData && !mayWait))
      return false;
    const bytesMax = this.request.usedUpBytes;
    if (bytesMax > 0) this.request.refuse('NO_ROOM_FOR_ANSWERS', { bytesMax }, NOT_APPLIED);
    return bytesMax > 0;
  }

  /**
   * Whether no other request of the connection may run together with this one. Consecutive reads of
   * maps and queues may run together; on an ordered engine changes may as well. Everything else
   * runs exclusively: a poll that may wait, a login that is computed, another path.
   */
  #mustBeExclusive({ permission, changesData }: Endpoint, waits: boolean): boolean {
    if (permission.kind === undefined) return true;
    if (changesData && !this.#parts.engine.isOrdered) return true;
    return this.#needsLoginCheck || waits;
  }

  #loginFor({ permission }: Endpoint): AccessControl | undefined {
    const { login, memberLogin } = this.#parts;
    return permission.login === 'member' ? memberLogin : login;
  }

  #mustLogIn(login: AccessControl, endpoint: Endpoint): boolean {
    if (!needsUser(endpoint, login)) return false;
    return !Login.of(this.request, login).isVerified(this.request.head.field(AUTHORIZATION));
  }

  #refuseUser(): void {
    this.auditRefusal();
    this.request.refuse('NOT_PERMITTED', { action: this.describe() });
  }

  auditRefusal(): void {
    const { login } = this.#parts;
    if (login !== undefined) Login.of(this.request, login).auditRefusal(this);
  }

  #refuseWhileStarting(): false {
    this.request.refuse(this.#parts.isShared ? 'JOINING' : 'RECOVERING', {}, RETRY_LATER);
    return false;
  }

  #refuse(code: PathRefusal): false {
    this.request.refuse(code, {});
    return false;
  }

  get changeRefusal(): Call['changeRefusal'] {
    const { cluster } = this.#parts;
    if (cluster.acceptsWrites) return undefined;
    return cluster.isCutOff ? 'MEMBER_CUT_OFF' : 'CLUSTER_PASSIVE';
  }

  refuseChange(what: string): void {
    const { cluster, dialect } = this.#parts;
    if (cluster.isCutOff)
      return this.request.refuse('MEMBER_CUT_OFF', { action: what }, NOT_APPLIED);
    const isV1 = this.#endpoint?.path.startsWith('v1/') === true;
    const status = isV1 ? undefined : dialect.passiveStatus;
    this.request.refuse('CLUSTER_PASSIVE', { action: what }, undefined, status);
  }

  /** Refuses a path that no enabled group has. `group`: its group; undefined for an unknown path. */
  #refusePath(group: EndpointGroup | undefined): false {
    const { restEnabled, endpointGroups } = SURFACE_SETTINGS;
    if (!this.#parts.groups.isRestOn) {
      this.request.refuse('REST_DISABLED', { setting: pathOf(restEnabled) });
    } else if (group === undefined) this.request.refuse('PATH_UNKNOWN', {});
    else {
      const setting = pathOf(endpointGroups, group);
      this.request.refuse('GROUP_DISABLED', { group, setting });
    }
    return false;
  }

  /** Refuses or answers a request whose path has no action for the method. */
  #refuseMethod(
    { allow, isIncomplete, refusal, thing }: Resource,
    page: PageFields | undefined,
  ): false {
    const { method } = this.request.head;
    const { crossOrigin, dialect } = this.#parts;
    const isPost = method === POST || method === PUT;
    if (thing !== undefined && isPost && dialect.reportsMissingNames) {
      this.request.refuse('NAME_MISSING', { thing });
      return false;
    }
    if (refusal !== undefined) return this.#refuse(refusal);
    if (method === OPTIONS) {
      const preflight = page && crossOrigin.preflightFields(page, allow);
      this.request.respond(204, NO_SPAN, '', { Allow: allow, ...preflight });
      return false;
    }
    if (isIncomplete) return this.#refuse('PATH_INCOMPLETE');
    const values = { action: this.describe(), methods: allow };
    this.request.refuse('METHOD_NOT_ALLOWED', values, { Allow: allow });
    return false;
  }
}

type PathRefusal = 'ESCAPE_INVALID' | 'METHOD_NOT_SERVED' | 'PATH_INCOMPLETE' | UnknownPath;

function needsUser(
  { permission: { login: needed, kind } }: Endpoint,
  login: AccessControl,
): boolean {
  if (kind !== undefined || needed === 'user' || needed === 'member') return true;
  return needed === 'health' && login.coversHealth;
}

const NAME = 1;
const KEY = 2;
const ASTERISK = 0x2a;
const EVERY_METHOD = allowedMethods((1 << (OPTIONS + 1)) - 1);
