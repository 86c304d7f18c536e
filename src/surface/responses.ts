/** Responses of the interface: the engine's result, JSON, and fields of refusals. */
import assert from 'node:assert';
import { REFUSALS } from '../base/refusals.ts';
import { Span } from '../base/span.ts';
import {
  ABSENT,
  APPLIED,
  CLOSED,
  COUNTED,
  FOUND,
  LOST,
  type OperationResult,
  QUEUE_FULL,
  SERVERS,
  UNKNOWN,
  UNREACHABLE,
  VALUE_COPY_BYTES_MAX,
} from '../engine/engine.ts';
import { failureCode } from '../engine/failure-code.ts';
import { JSON_TYPE, type Request } from '../http/request.ts';
import type { Fields } from '../http/response.ts';
import type { ItemHold } from '../http/response-delay.ts';
import type { Call } from './action.ts';

/** Responds in compact JSON, with the members in the order of the value's properties. */
export function respondJson(
  { request }: Pick<Call, 'request'>,
  value: unknown,
  status = 200,
  fields?: Fields,
): void {
  request.respond(status, JSON_TYPE, JSON.stringify(value), fields);
}

/** Responds to a request of `rest/` for a map or queue; see Respond. */
export function respondOutcome(
  call: Pick<Call, 'request' | 'name'>,
  answer: OperationResult,
  item: ItemHold | undefined,
): void {
  const { request } = call;
  const { partition, sequence } = answer;
  switch (answer.outcome) {
    case FOUND:
      return respondValue(request, answer, item);
    case ABSENT:
      return request.respondEmpty(204, partition, sequence);
    case APPLIED:
      return request.respondEmpty(200, partition, sequence);
    case QUEUE_FULL:
      request.note('QUEUE_FULL', REFUSALS.QUEUE_FULL.message);
      return request.respondEmpty(503, partition, sequence);
    case COUNTED:
      return respondCount(request, answer);
    default:
      return respondFailure(call, answer);
  }
}

function respondValue(request: Request, answer: OperationResult, item: ItemHold | undefined): void {
  const { value, contentType, partition, sequence } = answer;
  const response = request.draft(200, partition, sequence);
  response.contentType = contentType;
  response.content = value;
  if (value.length > VALUE_COPY_BYTES_MAX) response.pinned = answer.pin();
  response.hold = item;
  request.send(response);
}

function respondCount(request: Request, { count, partition, sequence }: OperationResult): void {
  const response = request.draft(200, partition, sequence);
  response.contentType = TEXT_PLAIN;
  response.content = Span.of(String(count));
  request.send(response);
}

/**
 * Responds with the reason why the engine has not done the operation, or does not know whether it
 * has.
 */
export function respondFailure(
  { request, name }: Pick<Call, 'request' | 'name'>,
  answer: OperationResult,
): void {
  const { code, outcome } = failureOf(answer);
  const values = { name: JSON.stringify(name.toBuffer().toString()) };
  const fields = outcome === undefined ? RETRY_LATER : OUTCOME_FIELDS[outcome];
  request.refuse(code, values, fields);
}

/**
 * Returns the code of a result of an operation that was not done, or may not have been, and the value
 * of Grid-Outcome, if it has one.
 */
export function failureOf(answer: OperationResult) {
  const { outcome, reason } = answer;
  const code = failureCode(answer);
  if (code === undefined) assert.fail(`outcome ${outcome}`);
  if (outcome === UNKNOWN) return { code, outcome: 'unknown' } as const;
  const isNotApplied =
    (outcome === UNREACHABLE && reason !== CLOSED) || outcome === LOST || reason === SERVERS;
  return { code, outcome: isNotApplied ? 'not-applied' : undefined } as const;
}

/** Content type of the plain-text responses that the member generates. */
export const TEXT_PLAIN = Span.of('text/plain');
/** Delay before a client should retry, in seconds. */
const RETRY_AFTER_SECONDS = 5;
export const RETRY_LATER: Fields = { 'Retry-After': String(RETRY_AFTER_SECONDS) };
export const NOT_APPLIED: Fields = { 'Grid-Outcome': 'not-applied', ...RETRY_LATER };
export const OUTCOME_UNKNOWN: Fields = { 'Grid-Outcome': 'unknown' };
const OUTCOME_FIELDS = { unknown: OUTCOME_UNKNOWN, 'not-applied': NOT_APPLIED };
