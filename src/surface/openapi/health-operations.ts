/** The operations of health. */
import {
  BOOLEAN,
  COUNT,
  empty,
  json,
  named,
  type OperationParts,
  object,
  oneOf,
} from './schema.ts';

const NODE_STATE = oneOf('STARTING', 'ACTIVE', 'PASSIVE', 'SHUT_DOWN');

export const HEALTH_SCHEMAS = {
  ClusterState: oneOf('ACTIVE', 'NO_MIGRATION', 'FROZEN', 'PASSIVE', 'IN_TRANSITION'),
  NodeState: NODE_STATE,
  Health: object({
    nodeState: named('NodeState'),
    clusterState: named('ClusterState'),
    clusterSafe: BOOLEAN,
    migrationQueueSize: COUNT,
    clusterSize: COUNT,
  }),
} as const;

export const HEALTH_OPERATIONS: OperationParts = {
  health: { responses: { 200: json('The report', named('Health')) } },
  nodeState: { responses: { 200: json('The state', named('NodeState')) } },
  clusterState: { responses: { 200: json('The state', named('ClusterState')) } },
  clusterSafe: {
    description: 'Responds with 503 if it is not.',
    responses: { 200: empty('The cluster is safe') },
  },
  migrationQueueSize: { responses: { 200: json('The number', COUNT) } },
  clusterSize: { responses: { 200: json('The number', COUNT) } },
  ready: {
    description: 'Responds with 503 if it is not.',
    responses: { 200: empty('The member is ready') },
  },
  live: { responses: { 200: empty('The process responds') } },
};
