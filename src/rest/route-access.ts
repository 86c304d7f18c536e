/**
 * The requirements of a route's methods: an HTTP Basic login where that is on, by group and path, and a
 * permission on the map or queue, by the action. Bits are those of the methods.
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
import * as maps from './maps.ts';
import * as queues from './queues.ts';
import type { Action, Route } from './routes.ts';

export interface RouteAccess {
  /** The kind that permissions are checked for; undefined where any user may. */
  readonly kind: Kind | undefined;
  /** The permission that each method needs, by method number; undefined where any user may. */
  readonly needs: readonly (number | undefined)[];
  /** The methods that change data. */
  readonly changes: number;
  /** The methods that require a login where that is on. */
  readonly logins: number;
  /** The methods that require one where it is on for health, too. */
  readonly healthLogins: number;
}

export const OPEN: RouteAccess = {
  kind: undefined,
  needs: [],
  changes: 0,
  logins: 0,
  healthLogins: 0,
};

/** Probes request these without credentials, whatever is configured. */
const ALWAYS_OPEN = ['health/live', 'health/ready'];

/** `actions`: by method number. */
export function accessOf(
  { path, group }: Route,
  actions: readonly (Action | undefined)[],
): RouteAccess {
  if (group === 'HEALTH_CHECK') {
    return ALWAYS_OPEN.includes(path) ? OPEN : { ...OPEN, healthLogins: READING };
  }
  // A POST to these carries its credentials in its body.
  if (group !== 'DATA') return { ...OPEN, logins: READING };
  const needs = actions.map((action) => action && NEEDS.get(action));
  let changes = 0;
  for (const [method, need] of needs.entries()) {
    if (need !== undefined && need !== READ) changes |= methodBit(method);
  }
  const kind = path.startsWith('rest/maps/') ? MAP : QUEUE;
  return { kind, needs, changes, logins: READING | CHANGING, healthLogins: 0 };
}

/** Permissions by action; an action that is not listed touches no data. */
const NEEDS: ReadonlyMap<Action, number> = new Map([
  [maps.get, READ],
  [maps.set, PUT_ENTRY],
  [maps.remove, REMOVE],
  [maps.clear, REMOVE],
  [queues.offer, ADD],
  [queues.offerFromPath, ADD],
  [queues.poll, REMOVE],
  [queues.size, READ],
]);

const READING = methodBit(GET) | methodBit(HEAD);
const CHANGING = methodBit(POST) | methodBit(PUT) | methodBit(DELETE);
