/**
 * Who the requests of a connection are from, where HTTP Basic is asked for. The credentials come with
 * each request; those that are the same bytes as the connection's own that proved right are right, so
 * nothing is computed again. The first of a connection and each failure have a line in the audit log.
 */
import type { Span } from '../base/span.ts';
import { type AccessControl, readBasicField } from '../security/access-control.ts';
import type { Verdict } from '../security/credentials.ts';
import type { Grants } from '../security/permissions.ts';
import { auditedUser } from '../telemetry/audit.ts';
import type { RestHandler } from './rest-handler.ts';

export class Login {
  readonly #handler: RestHandler;
  readonly #access: AccessControl;
  /** The Authorization value that proved right last. */
  #field: Buffer = Buffer.alloc(0);
  #epoch = -1;
  #grants: Grants | undefined;
  /** Whose value that is, for the audit log. */
  #user = '';

  constructor(handler: RestHandler, access: AccessControl) {
    this.#handler = handler;
    this.#access = access;
  }

  /** Has the request at hand done, at once or later, once it is known whose it is; or refuses it. */
  enter(): void {
    const field = this.#handler.exchange.request.authorization;
    if (this.#grants !== undefined && this.#epoch === this.#access.epoch && this.#isSame(field)) {
      this.#handler.work(this.#grants);
    } else this.#check(field);
  }

  /** The user may not do what the request asks for. */
  refuse(): void {
    this.#record(this.#user, 403);
    this.#fail(403, 'the user is not permitted to');
  }

  #check(field: Span): void {
    const handler = this.#handler;
    const login = readBasicField(field);
    if (login === undefined) {
      if (field.length > 0) this.#record(undefined, 401);
      return this.#fail(401, 'it takes a user and a password');
    }
    const { epoch } = this.#access;
    const verdict = this.#access.check(login, handler.exchange.peerAddress);
    if (!(verdict instanceof Promise)) return this.#decide(verdict, login.user, epoch);
    handler.await(
      verdict,
      (later) => this.#decide(later, login.user, epoch),
      (later) => this.#recordVerdict(later, login.user),
    );
  }

  /** `epoch`: that of the rules by which it was judged. */
  #decide(verdict: Verdict, user: Buffer, epoch: number): void {
    const { exchange } = this.#handler;
    // What was right may be so no longer.
    if (epoch !== this.#access.epoch) return this.#check(exchange.request.authorization);
    this.#recordVerdict(verdict, user);
    if (verdict.isRight) {
      this.#field = exchange.request.authorization.toBuffer();
      this.#user = auditedUser(user);
      this.#epoch = epoch;
      this.#grants = this.#access.grantsOf(user, exchange.peerAddress);
      return this.#handler.work(this.#grants);
    }
    if (verdict.retryAfterMs === 0) return this.#fail(401, 'user or password is wrong');
    const seconds = Math.ceil(verdict.retryAfterMs / 1000);
    this.#fail(
      429,
      `too many logins failed, try again in ${seconds} s`,
      `Retry-After: ${seconds}\r\n`,
    );
  }

  #fail(status: number, reason: string, fieldLines = ''): void {
    const message = `Cannot ${this.#handler.describeRequest()}: ${reason}`;
    const lines = status === 401 ? `${CHALLENGE}${fieldLines}` : fieldLines;
    this.#handler.exchange.respondFailure(status, message, lines);
  }

  #recordVerdict(verdict: Verdict, user: Buffer): void {
    if (verdict.isRight) this.#record(auditedUser(user), 200, 'log in');
    else this.#record(auditedUser(user), verdict.retryAfterMs === 0 ? 401 : 429);
  }

  #record(user: string | undefined, status: number, action = this.#handler.describeAction()): void {
    const { exchange, services } = this.#handler;
    services.audit.record({ user, address: exchange.peerAddress, action, status });
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

const CHALLENGE = 'WWW-Authenticate: Basic realm="gridnode", charset="UTF-8"\r\n';
