/**
 * The whole surface in one table: paths, groups, and each method's operation. Everything that
 * depends on a path is read from here: 405 and Allow, OPTIONS, 404, logins and permissions, and the
 * refusals in a PASSIVE cluster. router.ts matches paths. Other dialects change some rows, but add
 * no path. Tested by surface/surface.spec.ts.
 */

import * as cluster from '../administration/cluster-actions.ts';
import * as configuration from '../administration/configuration-actions.ts';
import * as status from '../administration/status-actions.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import * as maps from '../data/map-actions.ts';
import * as queues from '../data/queue-actions.ts';
import * as health from '../health/health-actions.ts';
import * as persistence from '../persistence/persistence-actions.ts';
import { ADD, MAP, PUT, QUEUE, READ, REMOVE } from '../security/permissions.ts';
import type { Work } from '../surface/administrative-call.ts';
import {
  administering,
  changing,
  informing,
  probing,
  reading,
  receiving,
  rows,
  unservedReading,
  unservedWith,
} from '../surface/operations.ts';
import type { Operation, Route } from '../surface/route.ts';
import * as wan from '../wan/wan-actions.ts';

const MANAGEMENT = 'rest/management/cluster';
const CLUSTER = { group: 'CLUSTER_READ', writeGroup: 'CLUSTER_WRITE' } as const;
const PUBLISHER = ['replication', 'publisher'];

const BACK_UP = administering('Makes a backup', [], persistence.backUp, [409]);
const INTERRUPT_BACKUP = administering(
  'Interrupts the backup',
  [],
  persistence.interruptBackup,
  [409],
);

export const POLL: Operation = {
  ...changing(
    { kind: QUEUE, action: REMOVE },
    'Takes the first item, or waits for one',
    queues.poll,
    [200, 204],
  ),
  mayWait: true,
};

export const ROUTES: readonly Route[] = [
  {
    path: 'rest/maps/{map}/{key}',
    group: 'DATA',
    GET: reading({ kind: MAP, action: READ }, 'The value of a key', maps.get, [200, 204]),
    POST: changing({ kind: MAP, action: PUT }, 'Sets the value of a key', maps.set, [200]),
    DELETE: changing({ kind: MAP, action: REMOVE }, 'Removes a key', maps.remove, [200]),
  },
  {
    path: 'rest/maps/{map}',
    group: 'DATA',
    DELETE: changing({ kind: MAP, action: REMOVE }, 'Removes all keys', maps.clear, [200]),
    incomplete: ['GET', 'POST'],
  },
  {
    path: 'rest/queues/{queue}',
    group: 'DATA',
    POST: changing({ kind: QUEUE, action: ADD }, 'Appends an item', queues.offer, [200]),
  },
  {
    path: 'rest/queues/{queue}/size',
    group: 'DATA',
    GET: reading({ kind: QUEUE, action: READ }, 'The number of items', queues.size, [200]),
  },
  {
    path: 'rest/queues/{queue}/{seconds}',
    group: 'DATA',
    DELETE: POLL,
  },
  { path: 'rest/maps/', group: 'DATA', unknown: 400 },
  { path: 'rest/maps/{map}/', group: 'DATA', unknown: 400 },
  { path: 'rest/queues/', group: 'DATA', unknown: 400 },
  { path: 'rest/queues/{queue}/{seconds}/{more}', group: 'DATA', unknown: 404 },

  ...rows('CLUSTER_READ', 'GET', {
    'rest/cluster': informing('Members and connections', status.cluster),
    'rest/instance': informing('The name of the member', status.instance),
  }),
  ...rows('CLUSTER_READ', 'POST', {
    [`${MANAGEMENT}/state`]: administering('The cluster state', [], cluster.state),
    [`${MANAGEMENT}/nodes`]: administering('The members, in three lines', [], cluster.nodes),
  }),
  {
    path: `${MANAGEMENT}/version`,
    ...CLUSTER,
    GET: informing('The cluster version', cluster.version),
    POST: administering('Changes the cluster version', ['version'], cluster.changeVersion, [409]),
  },
  {
    path: 'rest/license',
    ...CLUSTER,
    GET: informing('The hash of the license key', cluster.license),
    POST: administering('Sets the license key', ['key'], cluster.setLicense),
  },
  {
    path: 'rest/log-level',
    ...CLUSTER,
    GET: informing('The log level that was set', cluster.logLevel),
    POST: administering('Sets the log level', ['level'], cluster.changeLogLevel),
  },
  {
    path: 'rest/config/tcp-ip/member-list',
    ...CLUSTER,
    GET: informing('The members of the TCP-IP join', configuration.memberList),
    POST: administering('Replaces the member list', ['members'], configuration.changeMemberList),
  },
  ...rows('CLUSTER_WRITE', 'POST', {
    [`${MANAGEMENT}/changeState`]: administering(
      'Changes the cluster state',
      ['state'],
      cluster.changeState,
      [409],
    ),
    [`${MANAGEMENT}/clusterShutdown`]: administering('Stops all members', [], cluster.shutDownAll),
    [`${MANAGEMENT}/memberShutdown`]: administering('Stops the member', [], cluster.shutDown),
    'rest/log-level/reset': administering('Restores the log level', [], cluster.resetLogLevel),
    'rest/config/reload': administering('Reads the sources again', [], configuration.reload),
    'rest/config/update': administering(
      'Adds items to the configuration',
      ['configuration'],
      configuration.update,
      [],
      configuration.ADDED_TEXT_BYTES_MAX,
    ),
  }),

  {
    path: `${MANAGEMENT}/forceStart`,
    group: 'PERSISTENCE',
    isServedWhileStarting: true,
    POST: administering('Starts without the data', [], persistence.forceStart, [409]),
  },
  {
    path: `${MANAGEMENT}/partialStart`,
    group: 'PERSISTENCE',
    isServedWhileStarting: true,
    POST: administering('Starts with the undamaged data', [], persistence.partialStart, [409]),
  },
  ...rows('PERSISTENCE', 'POST', {
    [`${MANAGEMENT}/backup`]: BACK_UP,
    [`${MANAGEMENT}/backupInterrupt`]: INTERRUPT_BACKUP,
    [`${MANAGEMENT}/hotBackup`]: BACK_UP,
    [`${MANAGEMENT}/hotBackupInterrupt`]: INTERRUPT_BACKUP,
  }),

  ...rows('WAN', 'POST', {
    'rest/wan/sync/map': wanCall('Sends a map', [...PUBLISHER, 'map'], wan.syncMap),
    'rest/wan/sync/allmaps': wanCall('Sends all maps', PUBLISHER, wan.syncAllMaps),
    'rest/wan/sync/allMaps': wanCall('Sends all maps', PUBLISHER, wan.syncAllMaps),
    'rest/wan/clearWanQueues': wanCall('Clears the queue of a publisher', PUBLISHER, wan.clear),
    'rest/wan/addWanConfig': administering(
      'Adds publishers',
      ['configuration'],
      wan.add,
      [409],
      configuration.ADDED_TEXT_BYTES_MAX,
    ),
    'rest/wan/removeWanConfig': wanCall('Removes a publisher', PUBLISHER, wan.remove),
    'rest/wan/pausePublisher': wanCall('Pauses a publisher', PUBLISHER, wan.pause),
    'rest/wan/stopPublisher': wanCall('Stops a publisher', PUBLISHER, wan.stop),
    'rest/wan/resumePublisher': wanCall('Resumes a publisher', PUBLISHER, wan.resume),
    'rest/wan/consistencyCheck/map': wanCall('Compares a map', [...PUBLISHER, 'map'], wan.checkMap),
    'rest/wan/receive': receiving(
      'Receives a message from another member',
      wan.receive,
      wan.MESSAGE_BYTES_FURTHER,
      [200, 409],
    ),
  }),
  ...rows('WAN', 'GET', {
    'rest/wan/publishers': informing('The publishers', wan.publishers, [200, 409]),
    'rest/wan/sync/progress/{uuid}': informing(
      'The progress of a synchronisation or check',
      wan.progress,
      [200, 404, 409],
    ),
  }),

  {
    path: 'rest/cp-subsystem/members',
    group: 'CP',
    GET: unservedReading('The members of the subsystem'),
    POST: unservedWith('Adds the member to the subsystem', []),
  },
  ...rows('CP', 'GET', {
    'rest/cp-subsystem/groups': unservedReading('The groups'),
    'rest/cp-subsystem/groups/{group}': unservedReading('A group'),
    'rest/cp-subsystem/groups/{group}/sessions': unservedReading('The sessions of a group'),
    'rest/cp-subsystem/members/local': unservedReading('The local member of the subsystem'),
  }),
  ...rows('CP', 'POST', {
    'rest/cp-subsystem/groups/{group}/remove': unservedWith('Removes a group', []),
    'rest/cp-subsystem/groups/{group}/sessions/{id}/remove': unservedWith('Ends a session', []),
    'rest/cp-subsystem/members/{uuid}/remove': unservedWith('Removes a member', []),
    'rest/cp-subsystem/reset': unservedWith('Resets the subsystem', []),
  }),

  ...rows('HEALTH_CHECK', 'GET', {
    health: probing('user-for-health', 'The health report', health.report),
    'health/node-state': probing('user-for-health', 'The state of the member', health.nodeState),
    'health/cluster-state': probing('user-for-health', 'The cluster state', health.clusterState),
    'health/cluster-safe': probing(
      'user-for-health',
      'Whether the cluster is safe',
      health.clusterSafe,
    ),
    'health/migration-queue-size': probing(
      'user-for-health',
      'The number of partitions to be moved',
      health.migrationQueueSize,
    ),
    'health/cluster-size': probing('user-for-health', 'The number of members', health.clusterSize),
    'health/ready': probing('anyone', 'Whether the member is ready to serve', health.ready),
    'health/live': probing('anyone', 'Whether the process responds', health.live),
  }),
];

/** An operation on one named publisher. */
function wanCall(summary: string, parameters: readonly string[], work: Work): Operation {
  return administering(summary, parameters, work, [409], wan.NAME_BYTES_MAX);
}

/**
 * Returns the possible statuses of an operation: its own, and those of the checks before it, of the
 * engine and of faults.
 */
export function statusesOf({ permission, statuses }: Operation): ReadonlySet<number> {
  const ofLogin = permission === 'anyone' ? [] : [401, 403, 429];
  return new Set([...statuses, ...ofLogin, 400, 403, 408, 413, 415, 417, 500, 503]);
}

/** A prefix of unknown paths: their group, and the status of the response. */
export interface Prefix {
  /** Beginning of the path after `/{segment}/`. */
  readonly prefix: string;
  readonly group: EndpointGroup;
  readonly writeGroup?: EndpointGroup;
  readonly unknown: 400 | 404;
}

/**
 * The prefixes, longer ones first; the first match is used. Every path of the table has a prefix of
 * its group.
 */
export const PREFIXES: readonly Prefix[] = [
  { prefix: 'rest/maps/', group: 'DATA', unknown: 404 } as const,
  { prefix: 'rest/queues/', group: 'DATA', unknown: 404 } as const,
  { prefix: 'rest/wan', group: 'WAN', unknown: 404 } as const,
  { prefix: 'rest/cp-subsystem', group: 'CP', unknown: 404 } as const,
  { prefix: 'health', group: 'HEALTH_CHECK', unknown: 400 } as const,
  ...ROUTES.filter(({ path }) => !/\{|\/$|^health/.test(path)).map(
    ({ path, group, writeGroup = group }): Prefix => {
      return { prefix: path, group, writeGroup, unknown: 404 };
    },
  ),
].sort((a, b) => b.prefix.length - a.prefix.length);
