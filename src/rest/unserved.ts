/**
 * Endpoints of the surface whose work this member does not do: their groups, parameters and
 * credentials are checked like all others', and then they say so.
 */
import { withParameters } from './parameters.ts';
import type { RestHandler } from './rest-handler.ts';
import type { Action } from './routes.ts';

export function unserved({ exchange }: RestHandler): void {
  exchange.respondFailure(501, 'Cannot do this: not implemented by this member');
}

/** With so many parameters, of which the first two are the credentials. */
export function unservedWith(count: number): Action {
  return withParameters(count, unserved);
}
