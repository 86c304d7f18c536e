/**
 * Endpoints that this member does not implement. Their groups, parameters and credentials are
 * checked like those of all others; then the response reports that the operation is not
 * implemented. Tested by surface.spec.ts.
 */
import type { AdministrativeCall } from './administrative-call.ts';
import type { Call } from './route.ts';

export function unserved({ exchange }: Call): void {
  exchange.refuse('NOT_IMPLEMENTED', {});
}

export function unservedWork(call: AdministrativeCall): void {
  call.refuse('NOT_IMPLEMENTED', {});
}
