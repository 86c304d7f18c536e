/**
 * The whole surface in one table: path, group, and what each method does. Everything that depends on
 * it (405 and Allow, OPTIONS, 404, which group a path is in) is read from here; router.ts matches.
 *
 * In a path, `{map}`, `{key}` and so on are parts that the request chooses. HEAD is GET without the
 * content and PUT is POST, so neither has a column; OPTIONS is answered from the table.
 */
import type { EndpointGroup } from '../config/endpoint-group.ts';
import * as health from './health.ts';
import * as maps from './maps.ts';
import * as queues from './queues.ts';
import type { RestHandler } from './rest-handler.ts';
import * as status from './status.ts';

/** Does what a request asks for and answers it through the handler's exchange. */
export type Action = (handler: RestHandler) => void;

export interface Route {
  /** Behind `/{segment}/`. */
  readonly path: string;
  readonly group: EndpointGroup;
  readonly GET?: Action;
  readonly POST?: Action;
  readonly DELETE?: Action;
  /** Methods whose request would need a further part: 400, a URL that names too little. */
  readonly incomplete?: readonly ('GET' | 'POST' | 'DELETE')[];
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

  { path: 'rest/cluster', group: 'CLUSTER_READ', GET: status.cluster },
  { path: 'rest/instance', group: 'CLUSTER_READ', GET: status.instance },

  { path: 'health', group: 'HEALTH_CHECK', GET: health.report },
  { path: 'health/node-state', group: 'HEALTH_CHECK', GET: health.nodeState },
  { path: 'health/cluster-state', group: 'HEALTH_CHECK', GET: health.clusterState },
  { path: 'health/cluster-safe', group: 'HEALTH_CHECK', GET: health.clusterSafe },
  { path: 'health/migration-queue-size', group: 'HEALTH_CHECK', GET: health.migrationQueueSize },
  { path: 'health/cluster-size', group: 'HEALTH_CHECK', GET: health.clusterSize },
  { path: 'health/ready', group: 'HEALTH_CHECK', GET: health.ready },
  { path: 'health/live', group: 'HEALTH_CHECK', GET: health.live },
];

/** What unknown paths under a prefix are: in its group, and there answered with this status. */
export interface Prefix {
  readonly prefix: string;
  readonly group: EndpointGroup;
  readonly unknown: 400 | 404;
}

export const PREFIXES: readonly Prefix[] = [
  { prefix: 'rest/maps/', group: 'DATA', unknown: 404 },
  { prefix: 'rest/queues/', group: 'DATA', unknown: 404 },
  { prefix: 'rest/wan', group: 'WAN', unknown: 404 },
  { prefix: 'rest/cp-subsystem', group: 'CP', unknown: 404 },
  { prefix: 'health', group: 'HEALTH_CHECK', unknown: 400 },
];
