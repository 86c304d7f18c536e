/**
 * The whole surface in one table: path, group, and what each method does. Everything that depends on
 * it (405 and Allow, OPTIONS, 404, which group a path is in) is read from here; router.ts matches.
 *
 * In a path, `{map}`, `{key}` and so on are parts that the request chooses. PUT is POST, so it has no
 * column; OPTIONS is answered from the table. Other dialects change some rows, none adds a path.
 */
import type { EndpointGroup } from '../config/endpoint-group.ts';
import * as administration from './administration.ts';
import { type Work, withParameters } from './administrative-call.ts';
import * as health from './health.ts';
import * as maps from './maps.ts';
import * as queues from './queues.ts';
import * as reconfiguration from './reconfiguration.ts';
import type { RestHandler } from './rest-handler.ts';
import * as status from './status.ts';
import { unserved, unservedWork } from './unserved.ts';
import * as upkeep from './upkeep.ts';

/** Handles a request and answers it through the handler's exchange. */
export type Action = (handler: RestHandler) => void;

export interface Route {
  /** Path after `/{segment}/`. */
  readonly path: string;
  readonly group: EndpointGroup;
  /** Group of all methods but GET and HEAD, where that is another. OPTIONS needs either. */
  readonly writeGroup?: EndpointGroup;
  readonly GET?: Action;
  /** The action of HEAD where it is more than GET without the content. */
  readonly HEAD?: Action;
  readonly POST?: Action;
  readonly DELETE?: Action;
  /** Methods that need a further part in the path: 400, the URL is incomplete. */
  readonly incomplete?: readonly ('GET' | 'POST' | 'DELETE')[];
  /** The message for a POST whose URL is incomplete; without it such an answer has no content. */
  readonly missing?: string;
  /** Whether it answers before the member has started. */
  readonly isServedWhileStarting?: true;
  /** Status of all methods without an action, for a path that names no resource. */
  readonly unknown?: 400 | 404;
}

export const ROUTES: readonly Route[] = [
  {
    path: 'rest/maps/{map}/{key}',
    group: 'DATA',
    GET: maps.get,
    POST: maps.set,
    DELETE: maps.remove,
  },
  { path: 'rest/maps/{map}', group: 'DATA', DELETE: maps.clear, incomplete: ['GET', 'POST'] },
  { path: 'rest/queues/{queue}', group: 'DATA', POST: queues.offer },
  { path: 'rest/queues/{queue}/size', group: 'DATA', GET: queues.size },
  { path: 'rest/queues/{queue}/{seconds}', group: 'DATA', DELETE: queues.poll },
  { path: 'rest/maps/', group: 'DATA', unknown: 400 },
  { path: 'rest/maps/{map}/', group: 'DATA', unknown: 400 },
  { path: 'rest/queues/', group: 'DATA', unknown: 400 },
  { path: 'rest/queues/{queue}/{seconds}/{more}', group: 'DATA', unknown: 404 },

  { path: 'rest/cluster', group: 'CLUSTER_READ', GET: status.cluster },
  { path: 'rest/instance', group: 'CLUSTER_READ', GET: status.instance },

  {
    path: 'rest/management/cluster/version',
    group: 'CLUSTER_READ',
    writeGroup: 'CLUSTER_WRITE',
    GET: administration.version,
    POST: withParameters(3, administration.changeVersion),
  },
  ...inGroup('CLUSTER_READ', {
    'rest/management/cluster/state': [2, administration.state],
    'rest/management/cluster/nodes': [2, administration.nodes],
  }),
  {
    path: 'rest/license',
    group: 'CLUSTER_READ',
    writeGroup: 'CLUSTER_WRITE',
    GET: administration.license,
    POST: withParameters(3, administration.setLicense),
  },
  {
    path: 'rest/log-level',
    group: 'CLUSTER_READ',
    writeGroup: 'CLUSTER_WRITE',
    GET: administration.logLevel,
    POST: withParameters(3, administration.changeLogLevel),
  },
  {
    path: 'rest/config/tcp-ip/member-list',
    group: 'CLUSTER_READ',
    writeGroup: 'CLUSTER_WRITE',
    GET: reconfiguration.memberList,
    POST: withParameters(3, reconfiguration.changeMemberList),
  },

  ...inGroup('CLUSTER_WRITE', {
    'rest/management/cluster/changeState': [3, administration.changeState],
    'rest/management/cluster/clusterShutdown': [2, administration.shutDown],
    'rest/management/cluster/memberShutdown': [2, administration.shutDown],
    'rest/log-level/reset': [2, administration.resetLogLevel],
    'rest/config/reload': [2, reconfiguration.reload],
    'rest/config/update': [3, reconfiguration.update, reconfiguration.ADDED_TEXT_BYTES_MAX],
  }),
  {
    path: 'rest/management/cluster/forceStart',
    group: 'PERSISTENCE',
    isServedWhileStarting: true,
    POST: withParameters(2, upkeep.forceStart),
  },
  {
    path: 'rest/management/cluster/partialStart',
    group: 'PERSISTENCE',
    isServedWhileStarting: true,
    POST: withParameters(2, upkeep.partialStart),
  },
  ...inGroup('PERSISTENCE', {
    'rest/management/cluster/backup': [2, upkeep.backUp],
    'rest/management/cluster/backupInterrupt': [2, upkeep.interruptBackup],
    'rest/management/cluster/hotBackup': [2, upkeep.backUp],
    'rest/management/cluster/hotBackupInterrupt': [2, upkeep.interruptBackup],
  }),
  ...inGroup('WAN', {
    'rest/wan/sync/map': [5, unservedWork],
    'rest/wan/sync/allmaps': [4, unservedWork],
    'rest/wan/sync/allMaps': [4, unservedWork],
    'rest/wan/clearWanQueues': [4, unservedWork],
    'rest/wan/addWanConfig': [3, unservedWork],
    'rest/wan/pausePublisher': [4, unservedWork],
    'rest/wan/stopPublisher': [4, unservedWork],
    'rest/wan/resumePublisher': [4, unservedWork],
    'rest/wan/consistencyCheck/map': [5, unservedWork],
  }),
  { path: 'rest/wan/sync/progress/{uuid}', group: 'WAN', GET: unserved },

  { path: 'rest/cp-subsystem/groups', group: 'CP', GET: unserved },
  { path: 'rest/cp-subsystem/groups/{group}', group: 'CP', GET: unserved },
  { path: 'rest/cp-subsystem/groups/{group}/sessions', group: 'CP', GET: unserved },
  {
    path: 'rest/cp-subsystem/members',
    group: 'CP',
    GET: unserved,
    POST: withParameters(2, unservedWork),
  },
  { path: 'rest/cp-subsystem/members/local', group: 'CP', GET: unserved },
  ...inGroup('CP', {
    'rest/cp-subsystem/groups/{group}/remove': [2, unservedWork],
    'rest/cp-subsystem/groups/{group}/sessions/{id}/remove': [2, unservedWork],
    'rest/cp-subsystem/members/{uuid}/remove': [2, unservedWork],
    'rest/cp-subsystem/reset': [2, unservedWork],
  }),

  { path: 'health', group: 'HEALTH_CHECK', GET: health.report },
  { path: 'health/node-state', group: 'HEALTH_CHECK', GET: health.nodeState },
  { path: 'health/cluster-state', group: 'HEALTH_CHECK', GET: health.clusterState },
  { path: 'health/cluster-safe', group: 'HEALTH_CHECK', GET: health.clusterSafe },
  { path: 'health/migration-queue-size', group: 'HEALTH_CHECK', GET: health.migrationQueueSize },
  { path: 'health/cluster-size', group: 'HEALTH_CHECK', GET: health.clusterSize },
  { path: 'health/ready', group: 'HEALTH_CHECK', GET: health.ready },
  { path: 'health/live', group: 'HEALTH_CHECK', GET: health.live },
];

/** A prefix of unknown paths: their group, and the status of the answer there. */
export interface Prefix {
  /** Beginning of the path after `/{segment}/`. */
  readonly prefix: string;
  readonly group: EndpointGroup;
  readonly writeGroup?: EndpointGroup;
  readonly unknown: 400 | 404;
}

/** Longer ones first: the first match counts. Every path of the table has a prefix of its group. */
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

/** Rows of POST paths: the count of their parameters, their work, and their bytes. */
function inGroup(
  group: EndpointGroup,
  works: Readonly<Record<string, readonly [count: number, work: Work, bytesMax?: number]>>,
): Route[] {
  return Object.entries(works).map(([path, [count, work, bytesMax]]) => ({
    path,
    group,
    POST: withParameters(count, work, bytesMax),
  }));
}
