/**
 * The rows of health (group HEALTH_CHECK), for load balancers and probes.
 * Tested by surface/surface.spec.ts.
 */
import { ANYONE, type Permission, route, USER_FOR_HEALTH } from '../surface/route.ts';

export const HEALTH_ROUTES = {
  health: probing('health', 'The health report'),
  nodeState: probing('health/node-state', 'The state of the member'),
  clusterState: probing('health/cluster-state', 'The cluster state'),
  clusterSafe: probing('health/cluster-safe', 'Whether the cluster is safe'),
  migrationQueueSize: probing(
    'health/migration-queue-size',
    'The number of partitions to be moved',
  ),
  clusterSize: probing('health/cluster-size', 'The number of members'),
  ready: probing('health/ready', 'Whether the member is ready to serve', ANYONE),
  live: probing('health/live', 'Whether the process responds', ANYONE),
  belowHealth: { prefix: 'health', group: 'HEALTH_CHECK', refusal: 'PATH_WITHOUT_NAME' },

  healthInFields: {
    ...probing('health', 'The health report, also in header fields'),
    method: 'HEAD',
    dialect: 'hazelcast',
  },
} as const;

function probing(path: string, summary: string, permission: Permission = USER_FOR_HEALTH) {
  return route({
    method: 'GET',
    path,
    group: 'HEALTH_CHECK',
    permission,
    summary,
    statuses: [200],
    isServedWhileStarting: true,
  });
}
