/**
 * Who the requests of a connection are from, where HTTP Basic is asked for. The credentials come with
 * each request; those that are the same bytes as the connection's own that proved right are right, so
 * nothing is computed again. The first of a connection and each failure have a line in the audit log.
 */
import type { Span } from '../base/span.ts';
import { INDEPENDENT } from '../http/application.ts';
import type { Exchange, Fields } from '../http/exchange.ts';
import { type AccessControl, readBasicField } from '../security/access-control.ts';
import type { Verdict } from '../security/credentials.ts';
import type { Grants } from '../security/permissions.ts';
import { auditedUser } from '../telemetry/audit.ts';
import type { RestHandler } from './rest-handler.ts';

export class Login {
  readonly #access: AccessControl;
  /** The Authorization value that proved right last. */
  #field: Buffer = Buffer.alloc(0);
  #epoch = -1;
  #grants: Grants | undefined;
  /** Whose value that is, for the audit log. */
  #user = '';

  constructor(access: AccessControl) {
    this.#access = access;
  }

  /** The login of the request's connection, made at its first such request. */
  static of({ session }: Exchange, access: AccessControl): Login {
    session.memory ??= new Login(access);
    return session.memory as Login;
  }

  /** Whether the credentials are those that proved right last, so that nothing is computed. */
  isKnown(field: Span): boolean {
    return this.#grants !== undefined && this.#epoch === this.#access.epoch && this.#isSame(field);
  }

  /**
   * Has the request done, at once or later, once it is known whose it is; or refuses it. `isKnown`: its
   * credentials were, when it was admitted.
   */
  enter(handler: RestHandler, isKnown: boolean): void {
    if (isKnown && this.#epoch === this.#access.epoch) handler.work(this.#grants);
    else this.#check(handler, handler.exchange.request.authorization);
  }

  /** The user may not do what the request asks for. */
  refuse(handler: RestHandler): void {
    record(handler, this.#user, 403);
    fail(handler, 403, 'the user is not permitted to');
  }

  #check(handler: RestHandler, field: Span): void {
    const login = readBasicField(field);
    if (login === undefined) {
      if (field.length > 0) record(handler, undefined, 401);
      return fail(handler, 401, 'it takes a user and a password');
    }
    const { epoch } = this.#access;
    const verdict = this.#access.check(login, handler.exchange.session.peerAddress);
    if (!(verdict instanceof Promise)) return this.#decide(handler, verdict, login.user, epoch);
    handler.await(verdict, (later) => {
      if (!handler.exchange.isAbandoned) return this.#decide(handler, later, login.user, epoch);
      recordVerdict(handler, later, login.user);
      handler.exchange.respondEmpty(401, INDEPENDENT, 0);
    });
  }

  /** `epoch`: that of the rules by which it was judged. */
  #decide(handler: RestHandler, verdict: Verdict, user: Buffer, epoch: number): void {
    const { request, session } = handler.exchange;
    // What was right may be so no longer.
    if (epoch !== this.#access.epoch) return this.#check(handler, request.authorization);
    recordVerdict(handler, verdict, user);
    if (verdict.isRight) {
      this.#field = request.authorization.toBuffer();
      this.#user = auditedUser(user);
      this.#epoch = epoch;
      this.#grants = this.#access.grantsOf(user, session.peerAddress);
      return handler.work(this.#grants);
    }
    if (verdict.retryAfterMs === 0) return fail(handler, 401, 'user or password is wrong');
    const seconds = Math.ceil(verdict.retryAfterMs / 1000);
    fail(handler, 429, `too many logins failed, try again in ${seconds} s`, {
      'Retry-After': String(seconds),
    });
  }

  /**
   * In a time that depends on the length alone. Four bytes a step: what a login costs each request
   * (bench/request-path.ts) is mostly this.
   */
  #isSame({ bytes, start, length }: Span): boolean {
    const own = this.#field;
    if (length !== own.length) return false;
    let difference = 0;
    let at = 0;
    for (; at + 4 <= length; at += 4) {
      difference |=
        (bytes[start + at]! ^ own[at]!) |
        (bytes[start + at + 1]! ^ own[at + 1]!) |
        (bytes[start + at + 2]! ^ own[at + 2]!) |
        (bytes[start + at + 3]! ^ own[at + 3]!);
    }
    for (; at < length; at++) difference |= bytes[start + at]! ^ own[at]!;
    return difference === 0;
  }
}

function fail(handler: RestHandler, status: number, reason: string, fields?: Fields): void {
  const message = `Cannot ${handler.describeRequest()}: ${reason}`;
  handler.exchange.respondFailure(status, message, status === 401 ? CHALLENGE : fields);
}

function recordVerdict(handler: RestHandler, verdict: Verdict, user: Buffer): void {
  if (verdict.isRight) record(handler, auditedUser(user), 200, 'log in');
  else record(handler, auditedUser(user), verdict.retryAfterMs === 0 ? 401 : 429);
}

function record(
  handler: RestHandler,
  user: string | undefined,
  status: number,
  action = handler.describeAction(),
): void {
  const { exchange, services } = handler;
  services.audit.record({ user, address: exchange.session.peerAddress, action, status });
}

const CHALLENGE: Fields = { 'WWW-Authenticate': 'Basic realm="gridnode", charset="UTF-8"' };
