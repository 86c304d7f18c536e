/**
 * The surface that clients of the original member expect: the table of routes.ts, in which some
 * rows have further methods (a GET polls, a path contains the item) or other responses. No path is
 * added or removed. Tested by surface/dialect.spec.ts.
 */

import * as maps from '../data/map-actions.ts';
import * as queues from '../data/queue-actions.ts';
import * as health from '../health/health-actions.ts';
import type { Fields } from '../http/exchange.ts';
import { INDEPENDENT } from '../http/response-delay.ts';
import * as persistence from '../persistence/persistence-actions.ts';
import { ADD, MAP, QUEUE, REMOVE } from '../security/permissions.ts';
import type { AdministrativeCall, Work } from '../surface/administrative-call.ts';
import {
  administering,
  changing,
  informing,
  probing,
  unservedWith,
} from '../surface/operations.ts';
import type { Operation, Route } from '../surface/route.ts';
import { POLL, ROUTES } from './routes.ts';

const MANAGEMENT = 'rest/management/cluster';

const NO_MAP = { missing: 'map' } as const;
const NO_QUEUE = { missing: 'queue' } as const;

/** Offers an item from the path. The audit log does not show the item. */
const OFFER_FROM_PATH: Operation = {
  ...changing(
    { kind: QUEUE, action: ADD },
    'Appends an item, the last part of the path',
    queues.offerFromPath,
    [200],
  ),
  audited: 'name',
};

/** HEAD of any map, entry, queue or item: it looks nothing up, so it needs no permission. */
const SUCCEED: Operation = informing('Responds without a lookup', ({ exchange }) =>
  exchange.respondEmpty(200, INDEPENDENT, 0),
);

const CHANGED: Readonly<Record<string, Partial<Route>>> = {
  // DELETE clears the map with the empty name, which never has entries.
  'rest/maps/': {
    DELETE: changing({ kind: MAP, action: REMOVE }, 'Removes nothing', maps.clear, [200]),
    ...NO_MAP,
  },
  // A missing key is also reported as a missing map name.
  'rest/maps/{map}': NO_MAP,
  'rest/maps/{map}/': NO_MAP,
  'rest/queues/': NO_QUEUE,
  'rest/queues/{queue}/size': { POST: OFFER_FROM_PATH },
  'rest/queues/{queue}/{seconds}': { GET: POLL, POST: OFFER_FROM_PATH },
  health: {
    HEAD: probing(
      'user-for-health',
      'The health report, also in header fields',
      health.reportInFields,
    ),
  },
  [`${MANAGEMENT}/forceStart`]: { POST: startWith(persistence.forceStart) },
  [`${MANAGEMENT}/partialStart`]: { POST: startWith(persistence.partialStart) },
  [`${MANAGEMENT}/backup`]: { POST: backupWith(persistence.backUp) },
  [`${MANAGEMENT}/backupInterrupt`]: { POST: backupWith(persistence.interruptBackup) },
  [`${MANAGEMENT}/hotBackup`]: { POST: backupWith(persistence.backUp, 'backup') },
  [`${MANAGEMENT}/hotBackupInterrupt`]: {
    POST: backupWith(persistence.interruptBackup, 'backupInterrupt'),
  },
  // A POST to all groups gets 404; a POST to the local member gets the response of a POST to all
  // members. The credentials are checked first.
  'rest/cp-subsystem/groups': { POST: administering('Is not found', [], nowhere, [404]) },
  'rest/cp-subsystem/members/local': {
    POST: unservedWith('Adds the member to the subsystem', []),
  },
};

export const HAZELCAST_ROUTES: readonly Route[] = ROUTES.map((route) => ({
  ...route,
  ...(route.group === 'DATA' ? { HEAD: SUCCEED } : {}),
  ...CHANGED[route.path],
}));

function nowhere(call: AdministrativeCall): void {
  call.refuse('PATH_UNKNOWN', {});
}

/**
 * Without persistence no start can wait to be forced. The response reports a failure in its
 * content, not in its status.
 */
function startWith(work: Work): Operation {
  return administering('Starts a member that is waiting for a decision', [], (call) => {
    if (call.services.administration.maintenance === undefined) call.respondWithFailure();
    else work(call);
  });
}

/**
 * Without persistence, a backup succeeds and does nothing. `operation`: the current name of a
 * deprecated action; the response to the deprecated one names it.
 */
function backupWith(
  work: (call: AdministrativeCall, fields?: Fields) => void,
  operation?: string,
): Operation {
  return administering('Makes or interrupts a backup', [], (call) => {
    const fields = operation === undefined ? undefined : deprecation(call, operation);
    if (call.services.administration.maintenance === undefined) call.succeed({}, fields);
    else work(call, fields);
  });
}

function deprecation(call: AdministrativeCall, operation: string): Fields {
  const [, segment] = call.action.split('/', 2);
  const path = `/${segment}/${MANAGEMENT}/${operation}`;
  const advice = `Please use ${path} instead. This API will be removed in future releases.`;
  return { Deprecation: 'true', Warning: `299 - "Deprecated API". ${advice}` };
}
