/**
 * Endpoint groups: endpoints that are enabled and disabled together. Every path of the interface
 * belongs to one. Tested by member/config.spec.ts.
 */

/** The groups in their usual order, and whether each is enabled by default. */
export const ENDPOINT_GROUPS = {
  CLUSTER_READ: true,
  CLUSTER_WRITE: false,
  HEALTH_CHECK: true,
  PERSISTENCE: false,
  WAN: false,
  DATA: false,
  CP: false,
} as const;

/** Name of an endpoint group. */
export type EndpointGroup = keyof typeof ENDPOINT_GROUPS;

export const ENDPOINT_GROUP_NAMES = Object.keys(ENDPOINT_GROUPS) as readonly EndpointGroup[];

/** Returns the group of that name, in any case. HOT_RESTART is an old name of PERSISTENCE. */
export function parseEndpointGroup(text: string): EndpointGroup | undefined {
  const upper = text.toUpperCase();
  if (upper === 'HOT_RESTART') return 'PERSISTENCE';
  return ENDPOINT_GROUP_NAMES.find((name) => name === upper);
}
