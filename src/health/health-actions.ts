/**
 * Health endpoints (group HEALTH_CHECK), for load balancers and probes.
 * Tested by surface/compatibility.spec.ts.
 */
import { INDEPENDENT } from '../http/response-delay.ts';
import { respondJson } from '../surface/json.ts';
import type { Call } from '../surface/route.ts';

export function report(call: Call): void {
  respondJson(call, describe(call));
}

/** Responds with the report and repeats it in header fields, for HEAD. */
export function reportInFields(call: Call): void {
  const report = describe(call);
  respondJson(call, report, 200, {
    'Hazelcast-NodeState': report.nodeState,
    'Hazelcast-ClusterState': report.clusterState,
    'Hazelcast-MigrationQueueSize': String(report.migrationQueueSize),
    'Hazelcast-ClusterSize': String(report.clusterSize),
  });
}

export function nodeState(call: Call): void {
  respondJson(call, call.services.cluster.nodeState);
}

export function clusterState(call: Call): void {
  respondJson(call, call.services.cluster.state);
}

export function clusterSafe(call: Call): void {
  respondWhether(call, call.services.cluster.isSafe);
}

export function migrationQueueSize(call: Call): void {
  respondJson(call, call.services.cluster.migrationQueueSize);
}

export function clusterSize(call: Call): void {
  respondJson(call, call.services.cluster.members.length);
}

export function ready(call: Call): void {
  const { cluster, data } = call.services;
  respondWhether(call, cluster.isReady && data.engine.isReachable);
}

/** Succeeds while the process responds. */
export function live(call: Call): void {
  respondWhether(call, true);
}

function describe({ services: { cluster } }: Call) {
  return {
    nodeState: cluster.nodeState,
    clusterState: cluster.state,
    clusterSafe: cluster.isSafe,
    migrationQueueSize: cluster.migrationQueueSize,
    clusterSize: cluster.members.length,
  };
}

function respondWhether(call: Call, isTrue: boolean): void {
  call.exchange.respondEmpty(isTrue ? 200 : 503, INDEPENDENT, 0);
}
