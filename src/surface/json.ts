/**
 * Responses in JSON: compact, with the members in the order of the value's properties.
 * Tested by administration/administration.spec.ts.
 */
import type { Fields } from '../http/exchange.ts';
import type { Call } from './route.ts';

export function respondJson(
  { exchange }: Pick<Call, 'exchange'>,
  value: unknown,
  status = 200,
  fields?: Fields,
): void {
  exchange.respond(status, 'application/json', JSON.stringify(value), fields);
}
