/** Answers in JSON: compact, in the order of the fields given. */
import type { RestHandler } from './rest-handler.ts';

export function respondJson(handler: RestHandler, value: unknown): void {
  handler.exchange.respondText(200, 'application/json', JSON.stringify(value));
}
