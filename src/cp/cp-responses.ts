/**
 * The responses of the CP subsystem, which depend on every change before them.
 * Tested by cp-actions.spec.ts.
 */

import { ViewedBytes } from '../base/copy-bytes.ts';
import type { GridError } from '../base/errors.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { Span } from '../base/span.ts';
import { NATURAL_BYTES_MAX, writeNatural } from '../engine/decimal.ts';
import { JSON_TYPE, type Request } from '../http/request.ts';
import type { Call } from '../surface/action.ts';
import { NOT_APPLIED, OUTCOME_UNKNOWN } from '../surface/responses.ts';
import { NO_STORE } from '../v1/v1-calls.ts';

export function respondJson(
  { request }: Pick<Call, 'request'>,
  content: Span | string,
  status = 200,
): void {
  request.addResponseLines(NO_STORE);
  respondText(request, content, status);
}

export function respondText(request: Request, content: Span | string, status = 200): void {
  const response = request.draft(status, EVERY_PARTITION);
  response.contentType = JSON_TYPE;
  response.content = typeof content === 'string' ? Span.of(content) : content;
  request.send(response);
}

/** The content of a response with a fence, in memory that the next one replaces. */
export class FenceContent {
  readonly #bytes = new ViewedBytes(FENCE_START.length + NATURAL_BYTES_MAX + 1);
  readonly #span = new Span();

  constructor() {
    this.#bytes.bytes.write(FENCE_START, 'latin1');
  }

  of(fence: number): Span {
    const { bytes, view } = this.#bytes;
    const end = writeNatural(fence, bytes, FENCE_START.length);
    bytes[end] = CLOSING_BRACE;
    return this.#span.setViewed(bytes, view, 0, end + 1);
  }
}

export function respondDone({ request }: Pick<Call, 'request'>): void {
  request.addResponseLines(NO_STORE);
  request.respondEmpty(204, EVERY_PARTITION, 0);
}

/** Responds with the reason why the engine has not done, or may not have done, the work. */
export function fail(
  { request }: Pick<Call, 'request'>,
  { code, message, status, isOutcomeUnknown }: GridError,
): void {
  request.addResponseLines(NO_STORE);
  const isUnknown = isOutcomeUnknown || UNKNOWN_CODES.has(code);
  request.refuseWith(code, message, status, isUnknown ? OUTCOME_UNKNOWN : NOT_APPLIED);
}

/** Codes of operations that may have been done. */
const UNKNOWN_CODES: ReadonlySet<string> = new Set([
  'OUTCOME_UNKNOWN',
  'SERVERS_UNKNOWN',
  'SERVERS_UNCONFIRMED',
]);

const FENCE_START = '{"fence":';
const CLOSING_BRACE = 0x7d;
