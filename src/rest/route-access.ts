/**
 * What a route's methods ask of whoever calls them, from its group and path: an HTTP Basic login
 * where that is on, and a permission on the map or queue. Bits are those of the methods.
 */
import { DELETE, GET, HEAD, methodBit, POST, PUT } from '../http/methods.ts';
import {
  ADD,
  type Kind,
  MAP,
  PUT as PUT_ENTRY,
  QUEUE,
  READ,
  REMOVE,
} from '../security/permissions.ts';
import type { Route } from './routes.ts';

export interface RouteAccess {
  /** What permissions are on; undefined where any user may. */
  readonly kind: Kind | undefined;
  /** The permission that each method needs, by method number. */
  readonly needs: readonly number[];
  /** The methods that change data. */
  readonly changes: number;
  /** The methods that take a login where that is on. */
  readonly logins: number;
  /** Those that take one where it is on for health, too. */
  readonly healthLogins: number;
}

export const OPEN: RouteAccess = {
  kind: undefined,
  needs: [],
  changes: 0,
  logins: 0,
  healthLogins: 0,
};

/** Probes ask for these without credentials whatever is configured. */
const ALWAYS_OPEN = ['health/live', 'health/ready'];

export function accessOf({ path, group }: Route): RouteAccess {
  if (group === 'HEALTH_CHECK') {
    return ALWAYS_OPEN.includes(path) ? OPEN : { ...OPEN, healthLogins: READING };
  }
  // What is posted there carries its credentials in its body.
  if (group !== 'DATA') return { ...OPEN, logins: READING };
  const isMap = path.startsWith('rest/maps/');
  const needs: number[] = [];
  needs[GET] = needs[HEAD] = READ;
  needs[POST] = needs[PUT] = isMap ? PUT_ENTRY : ADD;
  needs[DELETE] = REMOVE;
  const kind = isMap ? MAP : QUEUE;
  return { kind, needs, changes: CHANGING, logins: READING | CHANGING, healthLogins: 0 };
}

const READING = methodBit(GET) | methodBit(HEAD);
const CHANGING = methodBit(POST) | methodBit(PUT) | methodBit(DELETE);
