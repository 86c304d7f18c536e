/** The rows of the whole table, and routers without actions. */

import type { Compatibility } from '../../src/config/compatibility.ts';
import { ROUTES } from '../../src/member/routes.ts';
import type { Actions } from '../../src/surface/action.ts';
import { DIALECTS } from '../../src/surface/dialect.ts';
import { type Resources, resourcesOf } from '../../src/surface/resource.ts';
import type { Prefix, Route, Rows } from '../../src/surface/route.ts';
import { Router } from '../../src/surface/router.ts';

/** The rows of all dialects. */
const ALL_ROWS: readonly Route[] = Object.values<Route | Prefix>(ROUTES).filter(
  (row) => 'method' in row,
);
/** The rows without those of only one dialect. */
export const ROWS = ALL_ROWS.filter(({ dialect }) => dialect === undefined);
export const PATHS: readonly string[] = [...new Set(ROWS.map(({ path }) => path))];

/** Returns the resources of a table whose actions do nothing. */
export function resourcesIn(
  table: Rows,
  compatibility: Compatibility = 'none',
  paths?: readonly string[],
): Resources {
  const administration = {
    dialect: DIALECTS[compatibility],
    credentials: { check: () => ({ isRight: false, retryAfterMs: 0 }) },
    audit: { write() {} },
    isShared: false,
  };
  const actions = Object.fromEntries(Object.keys(table).map((name) => [name, () => {}]));
  return resourcesOf(table, actions as Actions<Rows>, compatibility, administration, paths);
}

export function routerOf(compatibility: Compatibility = 'none', segment = 'grid'): Router {
  return new Router(segment, resourcesIn(ROUTES, compatibility));
}
