/**
 * Endpoints of the surface whose work this member does not do. Their groups, parameters and credentials
 * are checked like all others'; then the answer says that the work is not implemented.
 */
import type { AdministrativeCall } from './administrative-call.ts';
import type { Call } from './route.ts';

export function unserved({ exchange }: Call): void {
  exchange.refuse('NOT_IMPLEMENTED', {});
}

export function unservedWork(call: AdministrativeCall): void {
  call.refuse('NOT_IMPLEMENTED', {});
}
