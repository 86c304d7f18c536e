/**
 * Endpoints of the surface whose work this member does not do. Their groups, parameters and credentials
 * are checked like all others'; then the answer says that the work is not implemented.
 */
import type { AdministrativeCall } from './administrative-call.ts';
import type { Call } from './route.ts';

export function unserved({ exchange }: Call): void {
  exchange.respondFailure(501, MESSAGE);
}

export function unservedWork(call: AdministrativeCall): void {
  call.fail(501, MESSAGE);
}

const MESSAGE = 'Cannot do this: not implemented by this member';
