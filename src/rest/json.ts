/** Answers in JSON: compact, in the order of the fields given. */
import type { RestHandler } from './rest-handler.ts';

export function respondJson(handler: RestHandler, value: unknown, status = 200): void {
  handler.exchange.respondText(status, 'application/json', JSON.stringify(value));
}
