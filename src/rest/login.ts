/**
 * The user of a connection's requests, where HTTP Basic is required. The credentials come with each
 * request. Those with the same bytes as the connection's last right ones are right, so that no hash is
 * computed again. The first login of a connection and each failure have a line in the audit log.
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
  /** The last Authorization value that was right. */
  #field: Buffer = Buffer.alloc(0);
  #epoch = -1;
  #grants: Grants | undefined;
  /** The user of that value, for the audit log. */
  #user = '';

  constructor(access: AccessControl) {
    this.#access = access;
  }

  /** The login of the request's connection, created at its first such request. */
  static of({ session }: Exchange, access: AccessControl): Login {
    session.memory ??= new Login(access);
    return session.memory as Login;
  }

  /** Whether the credentials are the last right ones, so that no hash is computed. */
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

  /** Refuses a request that the user is not permitted to make. */
  refuse(handler: RestHandler): void {
    record(handler, this.#user, 403);
    fail(handler, 403, 'the user is not permitted to');
  }

  #check(handler: RestHandler, field: Span): void {
    const login = readBasicField(field);
    if (login === undefined) {
      if (field.length > 0) record(handler, undefined, 401);
      return fail(handler, 401, 'a user and a password are required');
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

  /** `epoch`: that of the rules that the verdict is based on. */
  #decide(handler: RestHandler, verdict: Verdict, user: Buffer, epoch: number): void {
    const { request, session } = handler.exchange;
    // The rules have changed since: right credentials may be wrong now.
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
   * Compares in a time that depends on the length alone. Four bytes a step: this is most of the cost of
   * a login for each request (bench/request-path.ts).
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
