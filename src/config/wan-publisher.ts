/**
 * Builds a WAN publisher from the values of a file or a request. Missing values get the defaults of
 * wan-publisher-settings.ts; a required value that is missing, and a contradiction, is a fault.
 * Tested by wan.spec.ts.
 */
import { quoted } from './finding-list.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import { pathOf } from './settings.ts';
import { NO_WAN_TLS, type WanConfig, type WanPublisher } from './wan-config.ts';
import { targetEndpointsIn } from './wan-endpoints.ts';
import { PUBLISHER_SETTINGS, type PublisherKey } from './wan-publisher-settings.ts';

type Rows = typeof PUBLISHER_SETTINGS;

/** The values that were set; each is of its type. */
export type SpecifiedPublisher = {
  readonly [Key in PublisherKey]?: Rows[Key]['fallback'];
};

/** A fault of a setting: its value is wrong, or it is missing. */
export interface PublisherFault {
  readonly key: PublisherKey;
  /** Whether the setting is missing; otherwise its value is wrong. */
  readonly isMissing: boolean;
  readonly reason: string;
}

/** The cluster name of a publisher that has only an id, as in the original. */
const CLUSTER_NAME = 'dev';

/**
 * Returns the id of the publisher. `name`: the name of the block in YAML, the default of cluster
 * name and id.
 */
function publisherIdOf(
  { publisherId, clusterName }: SpecifiedPublisher,
  name: string | undefined,
): string | undefined {
  return publisherId ?? name ?? clusterName;
}

/**
 * Returns the publisher, or the faults if it cannot be used. `endpoints`: the endpoints of the
 * configuration.
 */
export function publisherOf(
  specified: SpecifiedPublisher,
  name: string | undefined,
  endpoints: WanConfig['wanEndpoints'],
  queueBytesMax: number,
): WanPublisher | readonly PublisherFault[] {
  const publisherId = publisherIdOf(specified, name);
  const written = targetEndpointsIn(specified.targetEndpoints ?? '');
  const faults = faultsOf(specified, name, endpoints, queueBytesMax);
  if (faults.length > 0 || publisherId === undefined || written === undefined) return faults;
  const values = { ...DEFAULTS, queueBytesMax, ...specified };
  const tls = endpoints.get(specified.endpoint ?? '');
  const { endpoint: _, ...settings } = values;
  return {
    ...settings,
    publisherId,
    clusterName: specified.clusterName ?? name ?? CLUSTER_NAME,
    targetEndpoints: written.map((each) => ({ ...each, tls: each.tls ?? tls !== undefined })),
    tls: tls ?? NO_WAN_TLS,
  };
}

function faultsOf(
  specified: SpecifiedPublisher,
  name: string | undefined,
  endpoints: WanConfig['wanEndpoints'],
  queueBytesMax: number,
): PublisherFault[] {
  const { endpoint, username, password } = specified;
  const faults: PublisherFault[] = [];
  const lack = (key: PublisherKey, reason: string) => faults.push({ key, isMissing: true, reason });
  if (publisherIdOf(specified, name) === undefined) {
    lack('clusterName', 'it names the target, and the publisher if that has no other id');
  }
  if (specified.targetEndpoints === undefined)
    lack('targetEndpoints', 'it names at least one member');
  if (username === undefined && password !== undefined) lack('username', 'it has a password');
  if (username !== undefined && password === undefined) lack('password', 'it has a username');
  if (specified.queueBytesMax !== undefined && specified.queueBytesMax > queueBytesMax) {
    const reason = `more than ${pathOf('wanQueueBytesMax')}, ${queueBytesMax}`;
    faults.push({ key: 'queueBytesMax', isMissing: false, reason });
  }
  if (endpoint !== undefined && !endpoints.has(endpoint)) {
    const hint = hintOf(nearestNames(endpoint, [...endpoints.keys()].filter(Boolean)));
    const reason = `no usable advanced-network.wan-endpoint-config ${quoted(endpoint)}${hint}`;
    faults.push({ key: 'endpoint', isMissing: false, reason });
  }
  return faults;
}

const DEFAULTS = Object.fromEntries(
  Object.entries(PUBLISHER_SETTINGS).map(([key, { fallback }]) => [key, fallback]),
) as { readonly [Key in PublisherKey]: Rows[Key]['fallback'] };
