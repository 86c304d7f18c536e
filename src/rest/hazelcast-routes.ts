/**
 * The surface as clients of the original member expect it: the table of routes.ts, with some rows that
 * have further methods (a GET polls, a path carries the item) or other answers. No path is added or
 * left out.
 */
import { INDEPENDENT } from '../http/application.ts';
import type { Fields } from '../http/exchange.ts';
import { type AdministrativeCall, type Work, withParameters } from './administrative-call.ts';
import * as health from './health.ts';
import * as maps from './maps.ts';
import * as queues from './queues.ts';
import type { RestHandler } from './rest-handler.ts';
import { type Action, ROUTES, type Route } from './routes.ts';
import { unservedWork } from './unserved.ts';
import * as upkeep from './upkeep.ts';

const MANAGEMENT = 'rest/management/cluster';

const NO_MAP = { missing: 'Missing map name' };
const NO_QUEUE = { missing: 'Missing queue name' };

const CHANGED: Readonly<Record<string, Partial<Route>>> = {
  // DELETE clears the map with the empty name, which cannot have entries.
  'rest/maps/': { DELETE: maps.clear, ...NO_MAP },
  // A missing key, too, is reported as a missing name.
  'rest/maps/{map}': NO_MAP,
  'rest/maps/{map}/': NO_MAP,
  'rest/queues/': NO_QUEUE,
  'rest/queues/{queue}/size': { POST: queues.offerFromPath },
  'rest/queues/{queue}/{seconds}': { GET: queues.poll, POST: queues.offerFromPath },
  health: { HEAD: health.reportInFields },
  [`${MANAGEMENT}/forceStart`]: { POST: startWith(upkeep.forceStart) },
  [`${MANAGEMENT}/partialStart`]: { POST: startWith(upkeep.partialStart) },
  [`${MANAGEMENT}/backup`]: { POST: backupWith(upkeep.backUp) },
  [`${MANAGEMENT}/backupInterrupt`]: { POST: backupWith(upkeep.interruptBackup) },
  [`${MANAGEMENT}/hotBackup`]: { POST: backupWith(upkeep.backUp, 'backup') },
  [`${MANAGEMENT}/hotBackupInterrupt`]: {
    POST: backupWith(upkeep.interruptBackup, 'backupInterrupt'),
  },
  // A POST to all groups gets 404; one to the member itself is answered as one to all members. The
  // credentials are checked first.
  'rest/cp-subsystem/groups': { POST: withParameters(2, nowhere) },
  'rest/cp-subsystem/members/local': { POST: withParameters(2, unservedWork) },
};

export const HAZELCAST_ROUTES: readonly Route[] = ROUTES.map((route) => ({
  ...route,
  ...(route.group === 'DATA' ? { HEAD: succeed } : {}),
  ...CHANGED[route.path],
}));

/** HEAD of any map, entry, queue or item: looks nothing up. */
function succeed({ exchange }: RestHandler): void {
  exchange.respondEmpty(200, INDEPENDENT, 0);
}

function nowhere(call: AdministrativeCall): void {
  call.failEmpty(404);
}

/**
 * Without persistence no start waits to be forced. The answer is a failure by its content, not by its
 * status.
 */
function startWith(work: Work): Action {
  return withParameters(2, (call) => {
    if (call.handler.services.upkeep === undefined) call.failWith(200, {});
    else work(call);
  });
}

/**
 * Without persistence a backup of nothing. `operation`: the new name of the action, which the answer
 * has where the old one is served.
 */
function backupWith(
  work: (call: AdministrativeCall, fields?: Fields) => void,
  operation?: string,
): Action {
  return withParameters(2, (call) => {
    const fields = operation === undefined ? undefined : deprecation(call, operation);
    if (call.handler.services.upkeep === undefined) call.succeed({}, fields);
    else work(call, fields);
  });
}

function deprecation(call: AdministrativeCall, operation: string): Fields {
  const [, segment] = call.action.split('/', 2);
  const path = `/${segment}/${MANAGEMENT}/${operation}`;
  const advice = `Please use ${path} instead. This API will be removed in future releases.`;
  return { Deprecation: 'true', Warning: `299 - "Deprecated API". ${advice}` };
}
