/**
 * The surface as clients of the original member expect it: the table of routes.ts, some of whose rows
 * do more (a GET polls, a path carries the item) or answer otherwise. No path is added or left out.
 */
import { INDEPENDENT } from '../http/application.ts';
import { type AdministrativeCall, withParameters } from './administrative-call.ts';
import * as health from './health.ts';
import * as maps from './maps.ts';
import * as queues from './queues.ts';
import type { RestHandler } from './rest-handler.ts';
import { type Action, ROUTES, type Route } from './routes.ts';
import { unservedWork } from './unserved.ts';

const MANAGEMENT = 'rest/management/cluster';

const CHANGED: Readonly<Record<string, Partial<Route>>> = {
  // The map without a name, in which nothing can be.
  'rest/maps/': { DELETE: maps.clear },
  'rest/queues/{queue}/size': { POST: queues.offerFromPath },
  'rest/queues/{queue}/{seconds}': { GET: queues.poll, POST: queues.offerFromPath },
  health: { HEAD: health.reportInFields },
  [`${MANAGEMENT}/forceStart`]: { POST: withParameters(2, startNotTriggered) },
  [`${MANAGEMENT}/partialStart`]: { POST: withParameters(2, startNotTriggered) },
  [`${MANAGEMENT}/backup`]: { POST: withParameters(2, doNothing) },
  [`${MANAGEMENT}/backupInterrupt`]: { POST: withParameters(2, doNothing) },
  [`${MANAGEMENT}/hotBackup`]: { POST: deprecatedFor('backup') },
  [`${MANAGEMENT}/hotBackupInterrupt`]: { POST: deprecatedFor('backupInterrupt') },
  // Nothing is done to all groups, and to the member as to all members; who asks is checked first.
  'rest/cp-subsystem/groups': { POST: withParameters(2, nowhere) },
  'rest/cp-subsystem/members/local': { POST: withParameters(2, unservedWork) },
};

export const HAZELCAST_ROUTES: readonly Route[] = ROUTES.map((route) => ({
  ...route,
  ...(route.group === 'DATA' ? { HEAD: acknowledge } : {}),
  ...CHANGED[route.path],
}));

/** HEAD of whatever map, entry, queue or item: looks nothing up. */
function acknowledge({ exchange }: RestHandler): void {
  exchange.respondEmpty(200, INDEPENDENT, 0);
}

/** No start waits to be forced: told as a failure, not as an error. */
function startNotTriggered(call: AdministrativeCall): void {
  call.failWith(200, {});
}

function nowhere(call: AdministrativeCall): void {
  call.failEmpty(404);
}

/** A backup of nothing, since there is no persistence. */
function doNothing(call: AdministrativeCall): void {
  call.succeed();
}

/** The old name of `operation`: does the same and says so. */
function deprecatedFor(operation: string): Action {
  return withParameters(2, (call) => {
    const [, segment] = call.action.split('/', 2);
    const path = `/${segment}/${MANAGEMENT}/${operation}`;
    const advice = `Please use ${path} instead. This API will be removed in future releases.`;
    call.succeed({}, `Deprecation: true\r\nWarning: 299 - "Deprecated API". ${advice}\r\n`);
  });
}
