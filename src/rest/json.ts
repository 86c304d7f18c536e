/** Answers in JSON: compact, in the order of the fields given. */
import type { Fields } from '../http/exchange.ts';
import type { RestHandler } from './rest-handler.ts';

export function respondJson(
  handler: RestHandler,
  value: unknown,
  status = 200,
  fields?: Fields,
): void {
  handler.exchange.respond(status, 'application/json', JSON.stringify(value), fields);
}
