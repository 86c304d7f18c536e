/**
 * The user of a connection's requests, if HTTP Basic is required. Every request contains the
 * credentials. If they have the same bytes as the connection's last correct ones, no password is
 * hashed again. Long credentials are stored as a digest, so that a connection uses no memory beyond
 * the limits. After a check the credentials are decoded again, instead of being retained during it.
 * The first login of a connection and every failure are recorded in the audit log.
 */
import { createHash } from 'node:crypto';
import { NO_PARTITION } from '../base/partition-number.ts';
import { NO_BYTES, type Span } from '../base/span.ts';
import { AUTHORIZATION } from '../http/header-fields.ts';
import type { Request } from '../http/request.ts';
import type { Fields } from '../http/response.ts';
import { type AccessControl, readBasicField } from '../security/access-control.ts';
import type { Verdict } from '../security/credentials.ts';
import type { Grants } from '../security/permissions.ts';
import { auditedUser } from '../telemetry/audit.ts';
import type { RestHandler } from './rest-handler.ts';

/** Length up to which credentials are stored as sent, in bytes. */
const KEPT_BYTES_MAX = 512;

export class Login {
  readonly #access: AccessControl;
  /** The login of this connection under the other rules: those of clients, or of members. */
  readonly #other: Login | undefined;
  /** The last Authorization value with right credentials, or its digest if it is long. */
  #field: Buffer = NO_BYTES;
  /** Length of the last Authorization value with right credentials; -1 for none. */
  #fieldLength = -1;
  #epoch = -1;
  #grants: Grants | undefined;
  /** The user of the last right credentials, for the audit log. */
  #user = '';

  constructor(access: AccessControl, other?: Login) {
    this.#access = access;
    this.#other = other;
  }

  /**
   * Returns the login of the request's connection; the connection's first such request creates it.
   */
  static of({ session }: Request, access: AccessControl): Login {
    const last = session.memory as Login | undefined;
    if (last !== undefined) {
      if (last.#access === access) return last;
      const other = last.#other;
      if (other !== undefined && other.#access === access) return other;
    }
    const login = new Login(access, last);
    session.memory = login;
    return login;
  }

  /** Whether the credentials equal the last right ones, so that no hash is computed. */
  isVerified(field: Span): boolean {
    if (field.length !== this.#fieldLength || this.#epoch !== this.#access.epoch) return false;
    const { bytes, start, length } = field;
    return length <= KEPT_BYTES_MAX ? this.#isSame(bytes, start) : this.#isSame(digestOf(field), 0);
  }

  /**
   * Runs the request once its user is authenticated, now or later, or refuses it. `isVerified`: the
   * result of isVerified when the request was admitted.
   */
  authenticate(call: RestHandler, isVerified: boolean): void {
    if (isVerified && this.#epoch === this.#access.epoch) call.work(this.#grants);
    else this.#check(call);
  }

  /** Records a request that the user is not permitted to make, or not as a whole. */
  auditRefusal(call: RestHandler): void {
    writeAudit(call, this.#user, 403);
  }

  #check(call: RestHandler): void {
    const { head } = call.request;
    const field = head.field(AUTHORIZATION);
    const login = readBasicField(field);
    if (login === undefined) {
      if (field.length > 0) writeAudit(call, undefined, 401);
      return call.request.refuse('LOGIN_MISSING', { action: call.describe() }, CHALLENGE);
    }
    const { epoch } = this.#access;
    const verdict = this.#access.check(login, call.request.session.peerAddress);
    if (!(verdict instanceof Promise)) return this.#decide(call, verdict, login.user, epoch);
    call.await(verdict, (later) => {
      const user = readBasicField(head.field(AUTHORIZATION))?.user ?? NO_BYTES;
      if (!call.request.isAbandoned) return this.#decide(call, later, user, epoch);
      auditVerdict(call, later, user);
      call.request.respondEmpty(401, NO_PARTITION, 0);
    });
  }

  /** `epoch`: epoch of the rules that the verdict is based on. */
  #decide(call: RestHandler, verdict: Verdict, user: Buffer, epoch: number): void {
    const { head, session } = call.request;
    // The rules have changed since: right credentials may be wrong now.
    if (epoch !== this.#access.epoch) return this.#check(call);
    auditVerdict(call, verdict, user);
    if (verdict.isRight) {
      const field = head.field(AUTHORIZATION);
      const { length } = field;
      this.#field = length <= KEPT_BYTES_MAX ? field.toBuffer() : digestOf(field);
      this.#fieldLength = length;
      this.#user = auditedUser(user);
      this.#epoch = epoch;
      this.#grants = this.#access.grantsOf(user, session.peerAddress);
      return call.work(this.#grants);
    }
    const action = call.describe();
    if (verdict.retryAfterMs === 0) {
      return call.request.refuse('LOGIN_WRONG', { action }, CHALLENGE);
    }
    const seconds = Math.ceil(verdict.retryAfterMs / 1000);
    const fields = { 'Retry-After': String(seconds) };
    call.request.refuse('LOGIN_THROTTLED', { action, seconds }, fields);
  }

  /**
   * Compares as many bytes as are stored, in a time that depends only on their number. It compares
   * four bytes per step, as this is most of the cost of a login per request (bench: request-path).
   */
  #isSame(bytes: Buffer, start: number): boolean {
    const own = this.#field;
    const { length } = own;
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

function digestOf({ bytes, start, end }: Span): Buffer {
  return createHash('sha256').update(bytes.subarray(start, end)).digest();
}

function auditVerdict(call: RestHandler, verdict: Verdict, user: Buffer): void {
  if (verdict.isRight) writeAudit(call, auditedUser(user), 200, 'log in');
  else {
    const { throttledKey } = verdict;
    const status = throttledKey === undefined ? 401 : 429;
    writeAudit(call, auditedUser(user), status, undefined, throttledKey);
  }
}

function writeAudit(
  call: RestHandler,
  user: string | undefined,
  status: number,
  action = call.describeAction(),
  throttledKey?: string,
): void {
  const address = call.request.session.peerAddress;
  call.audit.write({ user, address, action, status }, throttledKey);
}

const CHALLENGE: Fields = { 'WWW-Authenticate': 'Basic realm="gridnode", charset="UTF-8"' };
