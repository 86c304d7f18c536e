/**
 * An administrative request. Its body contains the parameters as `p1&p2&…`, each encoded as a form
 * value; the first two are the credentials. The number of parameters is checked first, then the
 * credentials, then the work is done. Until then only the credentials are decoded. Every request
 * gets a line in the audit log when it is answered, even if the client has disconnected by then;
 * throttled requests share lines. Tested by administration/administration.spec.ts.
 */
import assert from 'node:assert';
import { GridError } from '../base/errors.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { REFUSALS, type RefusalCode, type RefusalValues } from '../base/refusals.ts';
import { Span } from '../base/span.ts';
import { fileText } from '../config/file-text.ts';
import { lineOf } from '../config/finding.ts';
import { FindingList } from '../config/finding-list.ts';
import { JSON_TYPE } from '../http/request.ts';
import type { Fields } from '../http/response.ts';
import type { Credentials, Verdict } from '../security/credentials.ts';
import { auditedUser, type CountingAudit } from '../telemetry/audit.ts';
import type { Action, Call, Work } from './action.ts';
import type { Dialect } from './dialect.ts';
import { decodeFormValue, decodeLongFormValue } from './percent-decoding.ts';
import { NOT_APPLIED, OUTCOME_UNKNOWN, respondJson } from './responses.ts';
import type { Parameter } from './route.ts';

/**
 * Maximum length of an encoded user or password, in bytes; longer ones are neither decoded nor
 * compared.
 */
const CREDENTIAL_BYTES_MAX = 4096;

/** Number of parameters that are credentials: user and password. */
const CREDENTIAL_COUNT = 2;

/**
 * The reasons why the configuration was not changed; `refusal`: the error that determines the
 * status of the response, if any.
 */
export interface RefusedConfig {
  readonly faults: readonly string[];
  readonly refusal?: GridError;
}

/** Parts of the member that every administrative request needs. */
export interface AdministrativeParts {
  readonly dialect: Dialect;
  /** Checks the credentials in the body. */
  readonly credentials: Credentials;
  readonly audit: Pick<CountingAudit, 'write'>;
  /** Whether several members share the engine. */
  readonly isShared: boolean;
}

/** Creates an action that expects the credentials and the parameters. */
export function withParameters(
  further: readonly Parameter[],
  work: Work,
  own: AdministrativeParts,
): Action {
  const count = CREDENTIAL_COUNT + further.length;
  const limits = further.map(({ bytesMax }) => bytesMax);
  return (called) => {
    const { request } = called;
    const parts = splitParameters(request.content.toBuffer(), count);
    const call = new AdministrativeCall(called, parts, own);
    if (parts.length < count) {
      return call.refuse('PARAMETERS_MISSING', { count });
    }
    if (!call.decodeCredentials()) return;
    const verdict = own.credentials.check({
      address: request.session.peerAddress,
      user: call.parameter(0),
      password: call.parameter(1),
      isCountedByUser: false,
    });
    const proceed = (found: Verdict): void => decide(call, found, work, limits);
    if (verdict instanceof Promise) call.await(verdict, proceed);
    else proceed(verdict);
  };
}

function decide(
  call: AdministrativeCall,
  verdict: Verdict,
  work: Work,
  limits: readonly number[],
): void {
  if (verdict.isRight) {
    const proceed = (isDecoded: boolean): void => {
      if (isDecoded) work(call);
    };
    const decoding = call.decodeRest(limits);
    if (decoding instanceof Promise) call.await(decoding, proceed);
    else proceed(decoding);
    return;
  }
  if (verdict.retryAfterMs === 0) return call.refuse('CREDENTIALS_WRONG', {});
  const seconds = Math.ceil(verdict.retryAfterMs / 1000);
  call.refuseThrottled(verdict.throttledKey, seconds);
}

export class AdministrativeCall {
  readonly #call: Call;
  readonly #own: AdministrativeParts;
  /** The parameters, credentials first: encoded, and decoded up to `#decodedCount`. */
  readonly #parameters: Buffer[];
  #decodedCount = 0;
  #isAudited = false;
  readonly #address: string;
  /** The user that the client sent, right or wrong; undefined if it cannot be decoded. */
  readonly #user: string | undefined;
  /** Method and path. */
  readonly action: string;

  constructor(call: Call, parts: Buffer[], own: AdministrativeParts) {
    this.#call = call;
    this.#own = own;
    this.#parameters = parts;
    this.#address = call.request.session.peerAddress;
    const [name] = parts;
    const user = name && name.length <= CREDENTIAL_BYTES_MAX ? decodeFormValue(name) : undefined;
    this.#user = user && auditedUser(user);
    this.action = call.describe();
  }

  /** The variable parts of the path, decoded. Valid during the turn. */
  get name(): Span {
    return this.#call.name;
  }

  get key(): Span {
    return this.#call.key;
  }

  /** The first parameter after the credentials. */
  get argument(): Buffer {
    return this.parameter(CREDENTIAL_COUNT);
  }

  /** The argument as a keyword; a longer argument is truncated. */
  get word(): string {
    return this.argument.toString('utf8', 0, WORD_BYTES_MAX);
  }

  /** Returns the decoded parameter. */
  parameter(index: number): Buffer {
    if (index >= this.#decodedCount) assert.fail('a parameter is decoded before it is used');
    return this.#parameters[index]!;
  }

  /**
   * Decodes the credentials. Returns false if one cannot be decoded; then the call has been
   * refused.
   */
  decodeCredentials(): boolean {
    return [0, 1].every((index) => {
      const part = this.#parameters[index]!;
      const value = part.length > CREDENTIAL_BYTES_MAX ? part : decodeFormValue(part);
      return this.#decoded(index, value, CREDENTIAL_BYTES_MAX);
    });
  }

  /**
   * Decodes the parameters after the credentials, long ones in slices. Returns false if one cannot
   * be decoded; then the call has been refused. `limits`: their maximum lengths, in bytes.
   */
  decodeRest(limits: readonly number[]): boolean | Promise<boolean> {
    const rest = this.#parameters.slice(CREDENTIAL_COUNT);
    if (rest.some((part) => part.length > AT_ONCE_BYTES_MAX)) return this.#decodeLong(rest, limits);
    return rest.every((part, at) =>
      this.#decoded(CREDENTIAL_COUNT + at, decodeFormValue(part), limits[at]!),
    );
  }

  async #decodeLong(rest: readonly Buffer[], limits: readonly number[]): Promise<boolean> {
    for (const [at, part] of rest.entries()) {
      const bytesMax = limits[at]!;
      // An encoded byte has up to three bytes, so a part longer than that is too long in any case.
      const value = part.length > 3 * bytesMax ? part : await decodeLongFormValue(part);
      if (!this.#decoded(CREDENTIAL_COUNT + at, value, bytesMax)) return false;
    }
    return true;
  }

  /** Stores a decoded parameter, or refuses the call. */
  #decoded(index: number, value: Buffer | undefined, bytesMax: number): boolean {
    if (value !== undefined && value.length <= bytesMax) {
      if (index !== this.#decodedCount) assert.fail('parameters are decoded once, in order');
      this.#parameters[index] = value;
      this.#decodedCount++;
      return true;
    }
    // The part is not repeated: it may be a password.
    const reason =
      value === undefined ? 'an invalid percent-escape' : `longer than ${bytesMax} bytes`;
    this.refuse('PARAMETER_UNREADABLE', { number: index + 1, reason });
    return false;
  }

  /** Continues when the promise is fulfilled, even if the client has disconnected by then. */
  await<Value>(promise: Promise<Value>, proceed: (value: Value) => void): void {
    const audited = promise.catch((error: unknown) => {
      this.#audit(500);
      throw error;
    });
    this.#call.await(audited, proceed);
  }

  /** Continues when the promise is fulfilled, or responds with the GridError that rejects it. */
  awaitOrFail<Value>(promise: Promise<Value>, proceed: (value: Value) => void): void {
    this.await(promise.catch(refusalOf), (outcome) => {
      if (outcome instanceof GridError) this.fail(outcome);
      else proceed(outcome);
    });
  }

  /** Returns the argument, a configuration text; undefined if the call has been refused. */
  document(): string | undefined {
    const problems = new FindingList();
    const read = fileText('configuration', this.argument, problems);
    if (read === undefined) this.refuseConfig(problems.listed.map(lineOf));
    return read?.text;
  }

  /** Responds with 200 and the result. */
  succeed(result: object = {}, fields?: Fields): void {
    this.#respond(200, { status: 'success', ...result }, fields);
  }

  /** Responds with 200 and no content, once every change before is durable. */
  succeedEmpty(): void {
    this.#audit(200);
    this.#call.request.respondEmpty(200, EVERY_PARTITION, 0);
  }

  /** Responds with 200 and the result as JSON, which is sent without a copy. */
  succeedWith(json: Buffer): void {
    this.#audit(200);
    const { request } = this.#call;
    const response = request.draft(200);
    response.contentType = JSON_TYPE;
    response.content = Span.of(json);
    response.pinned = { isCounted: false, release() {} };
    request.send(response);
  }

  /**
   * Refuses the request with the text of the table of refusals. `status`: by default the table's.
   */
  refuse<Code extends RefusalCode>(
    code: Code,
    values: RefusalValues<Code>,
    status: number = REFUSALS[code].status,
  ): void {
    this.#audit(status);
    this.#call.request.refuse(code, values, undefined, status);
  }

  /** Refuses a well-formed request with an invalid value. */
  refuseValue<Code extends RefusalCode>(code: Code, values: RefusalValues<Code>): void {
    this.refuse(code, values, this.#own.dialect.badValueStatus);
  }

  /** Refuses an invalid configuration. */
  refuseConfig(faults: readonly string[]): void {
    this.refuseValue('CONFIG_INVALID', { faults: faults.join('; ') });
  }

  /** Refuses a throttled login; see Verdict. */
  refuseThrottled(throttledKey: string | undefined, seconds: number): void {
    this.#audit(REFUSALS.CREDENTIALS_THROTTLED.status, throttledKey);
    const fields = { 'Retry-After': String(seconds) };
    this.#call.request.refuse('CREDENTIALS_THROTTLED', { seconds }, fields);
  }

  /** Responds with the reason why the work was not done, or may not have been done. */
  fail(
    error: GridError,
    status = this.#own.dialect.statusOf(error),
    fields = this.#outcomeOf(error, status),
  ): void {
    this.#audit(status);
    this.#call.request.refuseWith(error.code, error.message, status, fields);
  }

  /** If members share servers, every 503 states whether the work may have been done. */
  #outcomeOf(error: GridError, status: number): Fields | undefined {
    if (error.isOutcomeUnknown) return OUTCOME_UNKNOWN;
    return status === 503 && this.#own.isShared ? NOT_APPLIED : undefined;
  }

  /** Responds with `result` as the failure's fields; the reason is only logged. */
  failWith(error: GridError, result: object): void {
    const status = this.#own.dialect.statusOf(error);
    if (status >= 400) this.#call.request.note(error.code, error.message);
    this.#respond(status, { status: 'fail', ...result });
  }

  /** Responds with 200 and a failure, as the original member does. */
  respondWithFailure(): void {
    this.#respond(200, { status: 'fail' });
  }

  #respond(status: number, value: object, fields?: Fields): void {
    this.#audit(status);
    respondJson(this.#call, value, status, fields);
  }

  #audit(status: number, throttledKey?: string): void {
    if (this.#isAudited) assert.fail('a request has one line in the audit log');
    this.#isAudited = true;
    const entry = { user: this.#user, address: this.#address, action: this.action, status };
    this.#own.audit.write(entry, throttledKey);
  }
}

/** Returns an operating error; rethrows any other error, which is a fault of the member. */
export function refusalOf(error: unknown): GridError {
  if (error instanceof GridError) return error;
  throw error;
}

/**
 * Splits the body into at most `count` parts; the last one keeps its ampersands. An empty body has
 * no parts.
 */
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

/** Maximum length of a parameter that is decoded in one step, in bytes. */
const AT_ONCE_BYTES_MAX = 16_384;
const WORD_BYTES_MAX = 128;
const AMPERSAND = 0x26;
