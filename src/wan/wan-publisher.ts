/**
 * Builds a WAN publisher from the values of a file or a request. Missing values get the defaults of
 * the rows; a required value that is missing, and a contradiction, is a fault.
 * Tested by wan-reading.spec.ts.
 */
import { quoted } from '../config/finding-list.ts';
import { hintOf, nearestNames } from '../config/nearest-name.ts';
import { defaultsOf, type RowReading } from '../config/section-reading.ts';
import { pathOf } from '../config/setting.ts';
import type { EngineConfig } from '../engine/engine-settings.ts';
import type { WanConfig, WanPublisherOptions } from './wan-config.ts';
import { targetEndpointsIn } from './wan-endpoints.ts';
import {
  PUBLISHER_SETTINGS,
  type PublisherKey,
  WAN_SETTINGS,
  type WanSettings,
} from './wan-settings.ts';

/** The values that were set; each is of its type. */
export type SpecifiedPublisher = RowReading<typeof PUBLISHER_SETTINGS>['values'];

/** A fault of a setting: its value is wrong, or it is missing. */
export interface PublisherFault {
  readonly key: PublisherKey;
  /** Whether the setting is missing; otherwise its value is wrong. */
  readonly isMissing: boolean;
  readonly reason: string;
}

/** The settings that limit `queue-bytes-max`, which has no effect if servers store the data. */
export type QueueLimits = Pick<EngineConfig, 'engineUrl'> & Pick<WanSettings, 'wanQueueBytesMax'>;

/** The cluster name of a publisher that has only an id, as in the original. */
const CLUSTER_NAME = 'dev';

/**
 * Returns the publisher, or the faults if it cannot be used. `name`: the name of the block in YAML,
 * the default of cluster name and id. `endpoints`: the endpoints of the configuration.
 */
export function publisherOf(
  specified: SpecifiedPublisher,
  name: string | undefined,
  endpoints: WanConfig['wanEndpoints'],
  { wanQueueBytesMax: queueBytesMax, engineUrl }: QueueLimits,
): WanPublisherOptions | readonly PublisherFault[] {
  const { endpoint, username, password, clusterName = name } = specified;
  const publisherId = specified.publisherId ?? name ?? clusterName;
  const written = targetEndpointsIn(specified.targetEndpoints ?? '');
  const faults: PublisherFault[] = [];
  const lack = (key: PublisherKey, reason: string) => faults.push({ key, isMissing: true, reason });
  const refuse = (key: PublisherKey, reason: string) =>
    faults.push({ key, isMissing: false, reason });
  if (publisherId === undefined) {
    lack('clusterName', 'it names the target, and the publisher if that has no other id');
  }
  if (specified.targetEndpoints === undefined)
    lack('targetEndpoints', 'it names at least one member');
  if (username === undefined && password !== undefined) lack('username', 'it has a password');
  if (username !== undefined && password === undefined) lack('password', 'it has a username');
  const isLimited = engineUrl === undefined && specified.queueBytesMax !== undefined;
  if (isLimited && specified.queueBytesMax > queueBytesMax) {
    refuse('queueBytesMax', `more than ${pathOf(WAN_SETTINGS.wanQueueBytesMax)}, ${queueBytesMax}`);
  }
  if (endpoint !== undefined && !endpoints.has(endpoint)) {
    const hint = hintOf(nearestNames(endpoint, [...endpoints.keys()].filter(Boolean)));
    refuse('endpoint', `no usable advanced-network.wan-endpoint-config ${quoted(endpoint)}${hint}`);
  }
  if (faults.length > 0 || publisherId === undefined || written === undefined) return faults;
  const tls = endpoints.get(endpoint ?? '');
  const { endpoint: _, ...settings } = { ...DEFAULTS, queueBytesMax, ...specified };
  return {
    ...settings,
    publisherId,
    clusterName: clusterName ?? CLUSTER_NAME,
    targetEndpoints: written.map((each) => ({ ...each, tls: each.tls ?? tls !== undefined })),
    tls: tls ?? {},
  };
}

const DEFAULTS = defaultsOf(PUBLISHER_SETTINGS);
