/** Answers in JSON: compact, in the order of the fields given. */
import type { RestHandler } from './rest-handler.ts';

/** `fieldLines` are further fields, each ended by CR LF. */
export function respondJson(
  handler: RestHandler,
  value: unknown,
  status = 200,
  fieldLines = '',
): void {
  handler.exchange.respondText(status, 'application/json', JSON.stringify(value), fieldLines);
}
