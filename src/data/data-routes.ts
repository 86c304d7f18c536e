/** The rows of maps and queues (group DATA). Tested by surface/surface.spec.ts. */
import { ADD, type Kind, MAP, PUT, QUEUE, READ, REMOVE } from '../security/permissions.ts';
import { integerInPath, type Prefix, route, USER } from '../surface/route.ts';

/** Maximum time for which a poll waits, in seconds. */
export const POLL_SECONDS_MAX = 2 ** 31 - 1;

const SECONDS = [integerInPath('seconds', POLL_SECONDS_MAX)];
const POLL = 'rest/queues/{queue}/{seconds}';

export const DATA_ROUTES = {
  getEntry: route({
    ...on(MAP, READ, 'Get the value of a key'),
    method: 'GET',
    path: 'rest/maps/{map}/{key}',
    statuses: [200, 204],
  }),
  setEntry: route({
    ...changing(MAP, PUT, 'Set the value of a key'),
    method: 'POST',
    path: 'rest/maps/{map}/{key}',
    statuses: [200],
  }),
  deleteEntry: route({
    ...changing(MAP, REMOVE, 'Remove a key'),
    method: 'DELETE',
    path: 'rest/maps/{map}/{key}',
    statuses: [200],
  }),
  clearMap: route({
    ...changing(MAP, REMOVE, 'Remove all keys'),
    method: 'DELETE',
    path: 'rest/maps/{map}',
    statuses: [200],
    isIncomplete: true,
  }),
  offer: route({
    ...changing(QUEUE, ADD, 'Append an item'),
    method: 'POST',
    path: 'rest/queues/{queue}',
    statuses: [200],
  }),
  queueSize: route({
    ...on(QUEUE, READ, 'Get the number of items'),
    method: 'GET',
    path: 'rest/queues/{queue}/size',
    statuses: [200],
  }),
  poll: polling('DELETE'),
  belowMaps: below({ prefix: 'rest/maps/', refusal: 'PATH_WITHOUT_NAME', thing: 'map' }),
  belowQueues: below({
    prefix: 'rest/queues/',
    refusal: 'PATH_UNKNOWN',
    nameless: 'PATH_WITHOUT_NAME',
    thing: 'queue',
  }),

  pollWithGet: { ...polling('GET'), dialect: 'hazelcast' },
  offerFromPath: offeringFromPath(POLL),
  /** The item is `size`, in any case. */
  offerSize: { ...offeringFromPath('rest/queues/{queue}/size'), isInAnyCase: true },
  /** Clears the map with the empty name, which never has entries. */
  clearUnnamedMap: route({
    ...changing(MAP, REMOVE, 'Remove nothing'),
    method: 'DELETE',
    path: 'rest/maps/',
    statuses: [200],
    dialect: 'hazelcast',
  }),
  headOfMaps: heading('rest/maps/*'),
  headOfQueues: heading('rest/queues/*'),
} as const;

function on<const Summary extends string>(kind: Kind, need: number, summary: Summary) {
  return { group: 'DATA', permission: { login: 'user', kind, need }, summary } as const;
}

function changing<const Summary extends string>(kind: Kind, need: number, summary: Summary) {
  return { ...on(kind, need, summary), changesData: true } as const;
}

function polling<const Method extends 'GET' | 'DELETE'>(method: Method) {
  return route({
    ...changing(QUEUE, REMOVE, 'Take the first item, or wait for one'),
    method,
    path: POLL,
    parameters: SECONDS,
    statuses: [200, 204],
    mayWait: true,
  });
}

/** An item in the path, which the audit log does not show. */
function offeringFromPath<const Path extends string>(path: Path) {
  return route({
    ...changing(QUEUE, ADD, 'Append an item, the last part of the path'),
    method: 'POST',
    path,
    statuses: [200],
    audited: 'name',
    dialect: 'hazelcast',
  });
}

/** HEAD of any map, entry, queue or item: it looks nothing up, so it needs no permission. */
function heading<const Path extends string>(path: Path) {
  return route({
    method: 'HEAD',
    path,
    group: 'DATA',
    permission: USER,
    summary: 'Succeed without a lookup',
    statuses: [200],
    dialect: 'hazelcast',
  });
}

function below(prefix: Omit<Prefix, 'group'>): Prefix {
  return { group: 'DATA', ...prefix };
}
