/** The rows of maps and queues (group DATA). Tested by surface/surface.spec.ts. */
import { ADD, type Kind, MAP, PUT, QUEUE, READ, REMOVE } from '../security/permissions.ts';
import { integerInPath, type Prefix, type Route, route, USER } from '../surface/route.ts';

/** Maximum time for which a poll waits, in seconds. */
export const POLL_SECONDS_MAX = 2 ** 31 - 1;

const ENTRY = 'rest/maps/{map}/{key}';
const SIZE = 'rest/queues/{queue}/size';
const POLL = 'rest/queues/{queue}/{seconds}';

export const DATA_ROUTES = {
  getEntry: { ...reading(ENTRY, MAP, 'Get the value of a key'), statuses: [200, 204] },
  setEntry: changing('POST', ENTRY, MAP, PUT, 'Set the value of a key'),
  deleteEntry: changing('DELETE', ENTRY, MAP, REMOVE, 'Remove a key'),
  clearMap: {
    ...changing('DELETE', 'rest/maps/{map}', MAP, REMOVE, 'Remove all keys'),
    isIncomplete: true,
  },
  offer: changing('POST', 'rest/queues/{queue}', QUEUE, ADD, 'Append an item'),
  queueSize: reading(SIZE, QUEUE, 'Get the number of items'),
  poll: polling('DELETE'),
  belowMaps: below('rest/maps/', { refusal: 'PATH_WITHOUT_NAME', thing: 'map' }),
  belowQueues: below('rest/queues/', { nameless: 'PATH_WITHOUT_NAME', thing: 'queue' }),

  pollWithGet: { ...polling('GET'), dialect: 'hazelcast' },
  offerFromPath: offering(POLL),
  /** The item is `size`, in any case. */
  offerSize: { ...offering(SIZE), isInAnyCase: true },
  /** No path names the reserved map, so there is nothing to remove. */
  clearUnnamedMap: {
    ...changing('DELETE', 'rest/maps/', MAP, REMOVE, 'Remove nothing'),
    dialect: 'hazelcast',
  },
  headOfMaps: heading('rest/maps/*'),
  headOfQueues: heading('rest/queues/*'),
} as const;

function reading(path: string, kind: Kind, summary: string): Route {
  const permission = { login: 'user', kind, need: READ } as const;
  return route({ method: 'GET', path, group: 'DATA', permission, summary, statuses: [200] });
}

function changing(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  kind: Kind,
  need: number,
  summary: string,
): Route {
  const permission = { login: 'user', kind, need } as const;
  return { ...reading(path, kind, summary), method, permission, changesData: true };
}

function polling(method: 'GET' | 'DELETE') {
  return {
    ...changing(method, POLL, QUEUE, REMOVE, 'Take the first item, or wait for one'),
    parameters: [integerInPath('seconds', POLL_SECONDS_MAX)],
    statuses: [200, 204],
    mayWait: true,
  } as const;
}

/** An item in the path, which the audit log does not show. */
function offering(path: string): Route {
  const row = changing('POST', path, QUEUE, ADD, 'Append an item, the last part of the path');
  return { ...row, audited: 'name', dialect: 'hazelcast' };
}

/** HEAD of any map, entry, queue or item: it looks nothing up, so it needs no permission. */
function heading(path: string): Route {
  const summary = 'Succeed without a lookup';
  const row = { method: 'HEAD', path, group: 'DATA', permission: USER, summary } as const;
  return route({ ...row, statuses: [200], dialect: 'hazelcast' });
}

function below(prefix: string, others: Omit<Prefix, 'prefix' | 'group'>): Prefix {
  return { prefix, group: 'DATA', ...others };
}
