/**
 * An administrative request: parameters in the body as `p1&p2&…`, each written as a form value, the
 * first two its credentials. Their count is checked first, the credentials next, then the work is
 * done. Each has a line in the audit log, once it is answered.
 */
import type { Verdict } from '../security/credentials.ts';
import { respondJson } from './json.ts';
import { hasOnlyWholeEscapes, PercentDecoder } from './percent.ts';
import type { RestHandler } from './rest-handler.ts';
import type { Action } from './routes.ts';

/** Does the work of a request whose parameters have been read and whose credentials are right. */
export type Work = (call: AdministrativeCall) => void;

/** An action that takes `count` parameters, of which the first two are the credentials. */
export function withParameters(count: number, work: Work): Action {
  return (handler) => {
    const { exchange, services } = handler;
    const parts = splitParameters(exchange.request.body.toBuffer(), count);
    const parameters = parts.map(readFormValue);
    const call = new AdministrativeCall(handler, parameters);
    if (parts.length < count) {
      return call.fail(400, `This endpoint expects at least ${count} parameters`);
    }
    // The part is not repeated: it may be a password.
    const bad = parameters.indexOf(undefined);
    if (bad >= 0) {
      return call.fail(400, `Cannot read parameter ${bad + 1}: a bad escape`);
    }
    const [user = EMPTY, password = EMPTY] = parameters;
    const address = exchange.peerAddress;
    const verdict = services.credentials.check({
      address,
      user,
      password,
      isCountedByUser: false,
    });
    if (verdict instanceof Promise) handler.await(verdict, (later) => decide(call, later, work));
    else decide(call, verdict, work);
  };
}

function decide(call: AdministrativeCall, verdict: Verdict, work: Work): void {
  if (verdict.isRight) return work(call);
  if (verdict.retryAfterMs === 0) return call.fail(403, 'unauthenticated');
  const seconds = Math.ceil(verdict.retryAfterMs / 1000);
  call.fail(429, `Cannot log in now: try again in ${seconds} s`, `Retry-After: ${seconds}\r\n`);
}

export class AdministrativeCall {
  readonly handler: RestHandler;
  /** Undefined where the part has a bad escape. */
  readonly #parameters: readonly (Buffer | undefined)[];
  /** Method and path. */
  readonly action: string;

  constructor(handler: RestHandler, parameters: readonly (Buffer | undefined)[]) {
    this.handler = handler;
    this.#parameters = parameters;
    this.action = handler.describeRequest();
  }

  /** The parameter behind the credentials. */
  get argument(): Buffer {
    return this.#parameters[2] ?? EMPTY;
  }

  /** Answers 200 with what was done. */
  succeed(told: object = {}, fieldLines = ''): void {
    this.#record(200);
    respondJson(this.handler, { status: 'success', ...told }, 200, fieldLines);
  }

  /** Answers with a message that names the thing and the value. */
  fail(status: number, message: string, fieldLines = ''): void {
    this.#record(status);
    this.handler.exchange.respondFailure(status, message, fieldLines);
  }

  /** Answers a failure that is told otherwise. */
  failWith(status: number, told: object): void {
    this.#record(status);
    respondJson(this.handler, { status: 'fail', ...told }, status);
  }

  #record(status: number): void {
    const { exchange, services } = this.handler;
    const user = this.#parameters[0]?.toString('utf8', 0, AUDITED_USER_BYTES_MAX);
    services.audit.record({ user, address: exchange.peerAddress, action: this.action, status });
  }
}

/** At most `count` parts; the rest, with its ampersands, stays in the last. Nothing is no part. */
function splitParameters(body: Buffer, count: number): Buffer[] {
  const parts: Buffer[] = [];
  if (body.length === 0) return parts;
  let start = 0;
  while (parts.length < count - 1) {
    const end = body.indexOf(AMPERSAND, start);
    if (end < 0) break;
    parts.push(body.subarray(start, end));
    start = end + 1;
  }
  parts.push(body.subarray(start));
  return parts;
}

/** The bytes that a form value stands for; undefined for a bad escape. */
function readFormValue(part: Buffer): Buffer | undefined {
  if (!hasOnlyWholeEscapes(part, 0, part.length)) return undefined;
  const spaced = Buffer.from(part);
  for (let at = 0; at < spaced.length; at++) if (spaced[at] === PLUS) spaced[at] = SPACE;
  return PercentDecoder.decode(spaced);
}

/** Of what may be a name of megabytes. */
const AUDITED_USER_BYTES_MAX = 128;
const EMPTY = Buffer.alloc(0);
const AMPERSAND = 0x26;
const PLUS = 0x2b;
const SPACE = 0x20;
