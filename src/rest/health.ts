/** Health endpoints (group HEALTH_CHECK), for load balancers and probes. */
import { INDEPENDENT } from '../http/application.ts';
import { respondJson } from './json.ts';
import type { RestHandler } from './rest-handler.ts';

export function report(handler: RestHandler): void {
  respondJson(handler, describe(handler));
}

/** The report, which a HEAD gets in header fields, too. */
export function reportInFields(handler: RestHandler): void {
  const report = describe(handler);
  respondJson(handler, report, 200, {
    'Hazelcast-NodeState': report.nodeState,
    'Hazelcast-ClusterState': report.clusterState,
    'Hazelcast-MigrationQueueSize': String(report.migrationQueueSize),
    'Hazelcast-ClusterSize': String(report.clusterSize),
  });
}

export function nodeState(handler: RestHandler): void {
  respondJson(handler, handler.services.cluster.nodeState);
}

export function clusterState(handler: RestHandler): void {
  respondJson(handler, handler.services.cluster.state);
}

export function clusterSafe(handler: RestHandler): void {
  respondWhether(handler, handler.services.cluster.isSafe);
}

export function migrationQueueSize(handler: RestHandler): void {
  respondJson(handler, handler.services.cluster.migrationQueueSize);
}

export function clusterSize(handler: RestHandler): void {
  respondJson(handler, handler.services.cluster.members.length);
}

export function ready(handler: RestHandler): void {
  const { cluster, engine } = handler.services;
  respondWhether(handler, cluster.isReady && engine.isReachable);
}

/** Succeeds as long as the process answers. */
export function live(handler: RestHandler): void {
  respondWhether(handler, true);
}

function describe({ services: { cluster } }: RestHandler) {
  return {
    nodeState: cluster.nodeState,
    clusterState: cluster.state,
    clusterSafe: cluster.isSafe,
    migrationQueueSize: cluster.migrationQueueSize,
    clusterSize: cluster.members.length,
  };
}

function respondWhether(handler: RestHandler, isSo: boolean): void {
  handler.exchange.respondEmpty(isSo ? 200 : 503, INDEPENDENT, 0);
}
