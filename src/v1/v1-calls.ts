/**
 * The beginnings and ends that the actions of `v1` have in common: parameters, refusals, and responses
 * that are not stored by caches. Tested by v1-actions.spec.ts.
 */
import type { RefusalCode, RefusalValues } from '../base/refusals.ts';
import { Span } from '../base/span.ts';
import type { OperationResult } from '../engine/engine.ts';
import type { RequestHead } from '../http/request-head.ts';
import type { Action, Call, OwnAction, Respond } from '../surface/action.ts';
import { respondFailure } from '../surface/responses.ts';
import { Parameters, queryOf } from './parameters.ts';

/** Maximum of a time to live or a max idle, in seconds. */
export const SECONDS_MAX = 2 ** 31 - 1;
/** The number that an addition adds by default. */
export const ONE = 1n;
export const NO_STORE = 'Cache-Control: no-store\r\n';

/** Returns an action that first refuses a query, which none of the paths has. */
export function own(run: Action, respond: Respond): OwnAction {
  return { run: withoutQuery(run), respond };
}

/** Returns an action that first refuses a query. */
export function withoutQuery(run: Action): Action {
  const none = new Parameters([]);
  return (call) => {
    const { head } = call.request;
    if (!hasQuery(head) || readForm(call, queryOf(head), none)) return run(call);
  };
}

function hasQuery({ target, pathEnd }: RequestHead): boolean {
  return pathEnd < target.end;
}

/** Reads the parameters in a form. Returns whether they are valid; otherwise refuses the request. */
export function readForm(call: Call, form: Span, parameters: Parameters): boolean {
  const fault = parameters.read(form);
  if (fault === undefined) return true;
  const { code, name } = fault;
  const { names } = parameters;
  refuse(call, code, { name, known: names.length === 0 ? 'none' : names.join(', ') });
  return false;
}

/** Responds with text that depends on the result. */
export function respondText(
  { request }: Call,
  { partition, sequence }: OperationResult,
  type: Span,
  text: string,
  status = 200,
): void {
  request.addResponseLines(NO_STORE);
  const response = request.draft(status, partition, sequence);
  response.contentType = type;
  response.content = Span.of(text);
  request.send(response);
}

/** Refuses a request because of its own fields or parameters. */
export function refuse<Code extends RefusalCode>(
  { request }: Call,
  code: Code,
  values: RefusalValues<Code>,
): void {
  request.addResponseLines(NO_STORE);
  request.refuse(code, values);
}

/** Responds with the reason why the engine has not done the operation. */
export function fail(call: Call, answer: OperationResult): void {
  call.request.addResponseLines(NO_STORE);
  respondFailure(call, answer);
}
