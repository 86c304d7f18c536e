/**
 * The table of the surface in the form that router and handler use: the rows of one dialect with
 * their actions, by path and method. Tested by surface.spec.ts.
 */

import type { Compatibility } from '../config/compatibility.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import {
  allowedMethods,
  DELETE,
  GET,
  HEAD,
  methodBit,
  OPTIONS,
  POST,
  PUT,
} from '../http/methods.ts';
import { exchangeOf } from '../http/traffic-meter.ts';
import type { Action, Actions, OwnAction, Respond, WaitingAction, Work } from './action.ts';
import { type AdministrativeParts, withParameters } from './administrative-call.ts';
import { groupBit } from './endpoint-groups.ts';
import { respondOutcome } from './responses.ts';
import { type Prefix, type Route, type Rows, sameShape, type UnknownPath } from './route.ts';

/** A row with its action. */
export interface Endpoint extends Route {
  readonly run: Action;
  /** Whether a call may wait, for a row that may. */
  readonly waits: WaitingAction['waits'] | undefined;
  readonly respond: Respond;
}

/** A path, or the unknown paths of a prefix. The arrays are indexed by the method's number. */
export interface Resource {
  /** The path of the rows; for unknown paths the prefix. */
  readonly path: string;
  /** The exchange of its requests, without method and status (traffic-meter.ts). */
  readonly exchange: number;
  readonly groups: readonly EndpointGroup[];
  /** One bit per group that permits the request. */
  readonly groupBits: readonly number[];
  /** Undefined if the resource does not have the method. */
  readonly endpoints: readonly (Endpoint | undefined)[];
  /** Value of the Allow field. */
  readonly allow: string;
  /** Whether a method that the resource does not have needs a further part in the path. */
  readonly isIncomplete: boolean;
  /** Refusal of methods without an endpoint, for a path that is not a resource. */
  readonly refusal: UnknownPath | undefined;
  /** The thing whose name is missing in the path of a POST without an endpoint. */
  readonly thing: Prefix['thing'];
}

export interface Resources {
  readonly known: readonly Resource[];
  /** Unknown paths, longer prefixes first; the first match is used. */
  readonly unknown: readonly UnknownPaths[];
}

interface UnknownPaths {
  readonly prefix: string;
  readonly resource: Resource;
  /** Resource of a path with an empty part after the prefix. */
  readonly nameless: Resource;
}

/** Returns the paths of a table in all dialects. The number of a path is its place, from 1. */
export function pathsOf(table: Rows): readonly string[] {
  const rows = Object.values(table).filter((row) => 'path' in row);
  return [...new Set(rows.map(({ path }) => path))];
}

/**
 * Returns the resources of a dialect. `paths`: those of the whole table, of which `table` may be a part.
 * Throws RangeError if the table contradicts itself.
 */
export function resourcesOf<Table extends Rows>(
  table: Table,
  actions: Actions<Table>,
  compatibility: Compatibility,
  administration: AdministrativeParts,
  paths = pathsOf(table),
): Resources {
  const prefixes = Object.values(table).filter((row) => 'prefix' in row);
  const endpoints = rowsOf(table, compatibility).map(([name, row]) => {
    const action = actions[name as keyof Actions<Table>] as AnyAction;
    return endpointOf(row, action, administration);
  });
  const everywhere = endpoints.filter(({ path }) => path.endsWith('*'));
  const own = new Set(endpoints.map(({ path }) => path).filter((path) => !path.endsWith('*')));
  const known = [...own].map((path) => {
    const rows = endpoints.filter((each) => each.path === path);
    const [{ group }] = rows as [Endpoint];
    const isIncomplete = rows.some((each) => each.isIncomplete);
    const prefix = prefixes.find((each) => path.startsWith(each.prefix));
    const refusal = path.endsWith('/') ? (prefix?.nameless ?? prefix?.refusal) : undefined;
    const thing = isIncomplete || refusal !== undefined ? prefix?.thing : undefined;
    const exchange = exchangeOf(paths.indexOf(path) + 1, 0);
    return resourceOf(path, group, [...rows, ...everywhere], {
      exchange,
      isIncomplete,
      refusal,
      thing,
    });
  });
  return { known, unknown: unknownPaths(known, prefixes, everywhere) };
}

/**
 * Returns the rows of a dialect by the names of their actions: its own, and the common ones that
 * they do not replace.
 */
export function rowsOf(
  table: Rows,
  compatibility: Compatibility,
): readonly (readonly [string, Route])[] {
  const all = Object.entries(table);
  const rows = all.filter((named): named is [string, Route] => !('prefix' in named[1]));
  const chosen = new Map<string, readonly [string, Route]>();
  for (const [name, row] of rows.filter(([, { dialect }]) => dialect === undefined)) {
    const key = `${row.method} ${row.path}`;
    if (chosen.has(key)) throw new RangeError(`Cannot serve ${key} with "${name}": a row does`);
    chosen.set(key, [name, row]);
  }
  const paths = new Set([...chosen.values()].map(([, { path }]) => path));
  for (const [, row] of all) if ('prefix' in row) paths.add(row.prefix).add(`${row.prefix}*`);
  for (const [name, row] of rows.filter(([, { dialect }]) => dialect !== undefined)) {
    if (!paths.has(row.path))
      throw new RangeError(`Cannot change "${row.path}" with "${name}": no row has the path`);
    if (row.dialect === compatibility) chosen.set(`${row.method} ${row.path}`, [name, row]);
  }
  return [...chosen.values()];
}

type AnyAction = Action | WaitingAction | OwnAction | Work;

function endpointOf(row: Route, action: AnyAction, administration: AdministrativeParts): Endpoint {
  if (typeof action === 'object') {
    const { run } = action;
    const waits = 'waits' in action ? action.waits : undefined;
    const respond = 'respond' in action ? action.respond : respondOutcome;
    return Object.assign(sameShape(row), { run, waits, respond });
  }
  const isAdministrative = row.permission.login === 'credentials';
  const run = isAdministrative
    ? withParameters(row.parameters, action as Work, administration)
    : (action as Action);
  return Object.assign(sameShape(row), { run, waits: undefined, respond: respondOutcome });
}

/**
 * A method needs the group of its row. A method without a row needs that of the rows that read, or
 * of those that change; without any, `group`. `endpoints`: those of the path, and those of all paths
 * with a beginning, which come last.
 */
function resourceOf(
  path: string,
  group: EndpointGroup,
  endpoints: readonly Endpoint[],
  others: Pick<Resource, 'exchange' | 'isIncomplete' | 'refusal' | 'thing'>,
): Resource {
  const byMethod = Array.from<Endpoint | undefined>({ length: OPTIONS + 1 });
  for (const each of endpoints) {
    if (!each.path.endsWith('*') || path.startsWith(each.path.slice(0, -1)))
      byMethod[NUMBERS[each.method]] = each;
  }
  byMethod[HEAD] ??= byMethod[GET];
  if (path.startsWith('rest/')) byMethod[PUT] ??= byMethod[POST];
  const change = byMethod[POST] ?? byMethod[PUT] ?? byMethod[DELETE];
  const reading = (byMethod[HEAD] ?? change)?.group ?? group;
  const writing = change?.group ?? reading;
  const methods = byMethod.reduce((bits, each, method) => bits | (each ? methodBit(method) : 0), 0);
  const groups = byMethod.map(
    (each, method) => each?.group ?? (IS_READING.has(method) ? reading : writing),
  );
  const groupBits = groups.map(groupBit);
  groupBits[OPTIONS] = groupBits.reduce((all, bit) => all | bit, 0);
  const allow = allowedMethods(methods | methodBit(OPTIONS));
  return { path, groups, groupBits, endpoints: byMethod, allow, ...others };
}

const NUMBERS = { GET, HEAD, POST, PUT, DELETE };
const IS_READING = new Set([GET, HEAD, OPTIONS]);

/** Every path below `rest/` without variable parts is also a prefix of its groups. */
function unknownPaths(
  known: readonly Resource[],
  prefixes: readonly Prefix[],
  everywhere: readonly Endpoint[],
): readonly UnknownPaths[] {
  const stated = prefixes.map(
    ({ prefix, group, refusal = 'PATH_UNKNOWN', nameless = refusal, thing }) => {
      const refusedWith = (refusal: UnknownPath): Resource => {
        const named = refusal === 'PATH_WITHOUT_NAME' ? thing : undefined;
        const others = { exchange: 0, isIncomplete: false, refusal, thing: named };
        return resourceOf(prefix, group, everywhere, others);
      };
      return { prefix, resource: refusedWith(refusal), nameless: refusedWith(nameless) };
    },
  );
  const others = known
    .filter(({ path }) => /^rest\/[^{]*[^{/]$/.test(path))
    .map((row): UnknownPaths => {
      const resource: Resource = {
        ...row,
        exchange: 0,
        endpoints: [],
        refusal: 'PATH_UNKNOWN',
      };
      return { prefix: row.path, resource, nameless: resource };
    });
  return [...stated, ...others].sort((a, b) => b.prefix.length - a.prefix.length);
}
