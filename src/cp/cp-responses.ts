/**
 * The responses of the CP subsystem, which depend on every change before them.
 * Tested by cp-actions.spec.ts.
 */
import type { GridError } from '../base/errors.ts';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import { Span } from '../base/span.ts';
import { JSON_TYPE, type Request } from '../http/request.ts';
import type { Call } from '../surface/action.ts';
import { NOT_APPLIED, OUTCOME_UNKNOWN } from '../surface/responses.ts';
import { NO_STORE } from '../v1/v1-calls.ts';

export function respondJson({ request }: Pick<Call, 'request'>, text: string, status = 200): void {
  request.addResponseLines(NO_STORE);
  respondText(request, text, status);
}

export function respondText(request: Request, text: string, status = 200): void {
  const response = request.draft(status, EVERY_PARTITION);
  response.contentType = JSON_TYPE;
  response.content = Span.of(text);
  request.send(response);
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
