/**
 * The rows of monitoring (group CLUSTER_READ): metrics, the OpenAPI document, the status.
 * Tested by surface/surface.spec.ts.
 */
import { informing } from '../surface/route.ts';

/** The rows that the health port also serves. */
export const METRICS_ROUTES = {
  metrics: informing('CLUSTER_READ', 'metrics', 'The metrics, in the text formats of Prometheus', {
    isServedWhileStarting: true,
    command: 'metrics',
    about: 'Print the metrics',
  }),
} as const;

export const MONITORING_ROUTES = {
  ...METRICS_ROUTES,
  openApi: informing('CLUSTER_READ', 'openapi.json', 'The description of the interface', {
    command: 'openapi',
    about: 'Print the OpenAPI description of the interface',
  }),
  memberStatus: informing('CLUSTER_READ', 'v1/status', 'The state and load of the member', {
    command: 'status',
    about: 'Print the state and load of the member',
  }),
} as const;
