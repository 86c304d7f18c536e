/**
 * The rows of `v1`, the interface beside `rest/` to the same maps (group DATA). They are the same in
 * every dialect. Tested by surface/surface.spec.ts.
 */
import { MAP, PUT, READ, REMOVE } from '../security/permissions.ts';
import {
  integerInQuery,
  type Prefix,
  type Route,
  route,
  textInQuery,
  USER,
} from '../surface/route.ts';

const ENTRY = 'v1/maps/{map}/entries/{key}';

/** The only parameter of an addition. */
export const BY = 'by';
/** The parameters of a list. */
export const PREFIX = 'prefix';
export const LIMIT = 'limit';
export const CURSOR = 'cursor';
/** Maximum number of lines of a list with a limit. */
export const LIMIT_MAX = 10_000;

const READING = { login: 'user', kind: MAP, need: READ } as const;

export const V1_ROUTES = {
  listMaps: listing('v1/maps', 'List the maps that have entries', USER),
  listKeys: listing('v1/maps/{map}/keys', 'List the keys of a map'),
  listEntries: listing('v1/maps/{map}/entries', 'List the entries of a map'),
  describeMap: reading('v1/maps/{map}', 'Get the size of a map and its bytes', [200]),
  mapSize: reading('v1/maps/{map}/size', 'Get the number of entries', [200]),
  clearV1Map: changing('DELETE', 'v1/maps/{map}', REMOVE, 'Remove all entries', [204]),
  getV1Entry: reading(ENTRY, 'Get the value of a key', [200, 206, 304, 404, 412, 416]),
  putV1Entry: changing('PUT', ENTRY, PUT, 'Set the value of a key', [201, 204, 412]),
  deleteV1Entry: changing('DELETE', ENTRY, REMOVE, 'Remove a key', [204, 412]),
  addToEntry: changing(
    'POST',
    'v1/maps/{map}/counters/{key}',
    READ | PUT,
    'Add to the number that is the value of a key',
    [200, 409],
  ),
  changeEntries: {
    ...changing('POST', 'v1/maps/{map}/bulk', 0, 'Change many entries', [200, 207]),
    // An action checks the permission that each line needs.
    mayWait: true,
  },
  lookUpEntries: {
    ...reading('v1/maps/{map}/lookup', 'Get many entries', [200]),
    method: 'POST',
    mayWait: true,
  },
  belowV1Maps: { prefix: 'v1/maps/', group: 'DATA', nameless: 'NAME_EMPTY' } satisfies Prefix,
} as const;

type Statuses = readonly [number, ...number[]];

function reading(path: string, summary: string, statuses: Statuses): Route {
  return route({ method: 'GET', path, group: 'DATA', permission: READING, summary, statuses });
}

function listing(path: string, summary: string, permission: Route['permission'] = READING) {
  const parameters = [
    textInQuery(PREFIX),
    integerInQuery(LIMIT, 1, LIMIT_MAX),
    textInQuery(CURSOR),
  ];
  return { ...reading(path, summary, [200]), permission, parameters, mayWait: true } as const;
}

function changing(
  method: 'PUT' | 'POST' | 'DELETE',
  path: string,
  need: number,
  summary: string,
  statuses: Statuses,
): Route {
  const permission = { login: 'user', kind: MAP, need } as const;
  return { ...reading(path, summary, statuses), method, permission, changesData: true };
}
