/** Health, for load balancers and probes. */
import { NO_PARTITION } from '../base/partition-number.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Engine } from '../engine/engine.ts';
import type { Actions, Call } from '../surface/action.ts';
import { healthReport } from '../surface/cluster-reports.ts';
import { respondJson } from '../surface/responses.ts';
import type { HEALTH_ROUTES } from './health-routes.ts';

export function healthActions(
  cluster: Cluster,
  engine: Pick<Engine, 'isReachable'>,
): Actions<typeof HEALTH_ROUTES> {
  const report = () => healthReport(cluster);
  return {
    health: (call) => respondJson(call, report()),
    nodeState: (call) => respondJson(call, cluster.nodeState),
    clusterState: (call) => respondJson(call, cluster.state),
    clusterSafe: (call) => respondWhether(call, cluster.isSafe),
    migrationQueueSize: (call) => respondJson(call, cluster.migrationQueueSize),
    clusterSize: (call) => respondJson(call, cluster.members.length),
    ready: (call) => respondWhether(call, cluster.isReady && engine.isReachable),
    live: (call) => respondWhether(call, true),
    healthInFields(call) {
      const { nodeState, clusterState, migrationQueueSize, clusterSize } = report();
      respondJson(call, report(), 200, {
        'Hazelcast-NodeState': nodeState,
        'Hazelcast-ClusterState': clusterState,
        'Hazelcast-MigrationQueueSize': String(migrationQueueSize),
        'Hazelcast-ClusterSize': String(clusterSize),
      });
    },
  };
}

function respondWhether(call: Call, isTrue: boolean): void {
  call.request.respondEmpty(isTrue ? 200 : 503, NO_PARTITION, 0);
}
