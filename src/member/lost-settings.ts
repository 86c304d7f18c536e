/**
 * Settings of the original whose function this member does not have, each with the consequence, and
 * the original's defaults of settings without meaning here, which are not worth a warning. A row
 * applies only while the configuration has nothing in its place.
 */
import type { UnusedFinding } from '../config/finding.ts';
import { pathOf } from '../config/setting.ts';
import { sourceOf } from '../config/setting-table.ts';
import { type LostSetting, lossOf, type UnusedRows } from '../config/unused-settings.ts';
import type { Config } from './config.ts';
import { SETTINGS } from './settings.ts';

const ENGINE = pathOf(SETTINGS.engineUrl);
const NO_CLASS = 'no class is loaded here';
const NO_COPIES = `no copies on other members here; servers keep them (${ENGINE})`;
const NO_DISCOVERY = `finds no members here; several share servers (${ENGINE})`;
const NO_SYNC = `writes do not wait for the disk; ${pathOf(SETTINGS.persistenceSync)} "always" makes them`;
const NO_BINARY_CLIENTS = 'binary clients are not served';
const NO_MEMCACHE = 'Memcache clients are not served';

/** Off without `enabled: true`. */
const UNLESS_ENABLED = { name: 'enabled', off: 'FALSE', isOffByDefault: true } as const;
/** On without `enabled: false`. */
const UNLESS_DISABLED = { name: 'enabled', off: 'FALSE', isOffByDefault: false } as const;

/** Returns a function that is off without `enabled: true`. */
function enabled(pattern: string, effect: string): LostSetting {
  return { pattern, switchedBy: UNLESS_ENABLED, effect };
}

const ALWAYS_LOST: readonly LostSetting[] = [
  {
    pattern: 'map.{name}.eviction',
    switchedBy: { name: 'eviction-policy', off: 'NONE', isOffByDefault: true },
    effect: `no eviction here; writes get 503 at ${pathOf(SETTINGS.maxMemory)}`,
  },
  {
    pattern: 'map.{name}.map-store',
    switchedBy: UNLESS_DISABLED,
    effect: 'no map store here; entries are neither loaded from it nor written to it',
  },
  {
    pattern: 'map.{name}.near-cache',
    effect: 'no near cache here; every read gets the stored value',
  },
  enabled('map.{name}.tiered-store', 'no disk tier here; all entries are in memory'),
  { pattern: 'map.{name}.entry-listeners', effect: NO_CLASS },
  { pattern: 'map.{name}.partition-lost-listeners', effect: NO_CLASS },
  {
    pattern: 'queue.{name}.queue-store',
    switchedBy: UNLESS_DISABLED,
    effect: 'no queue store here; items are neither loaded from it nor written to it',
  },
  { pattern: 'queue.{name}.item-listeners', effect: NO_CLASS },
  enabled('split-brain-protection.{name}', 'requests are served however few members there are'),
  { pattern: 'listeners', effect: NO_CLASS },
  enabled('user-code-deployment', NO_CLASS),
  enabled('user-code-namespaces', NO_CLASS),
  enabled('auditlog', `${NO_CLASS}; audit lines are in the log`),
  enabled('jet', 'jobs are not run here'),
  enabled('instance-tracking', 'no file is written here'),
  enabled('rest', `this interface is not served; ${pathOf(SETTINGS.restEnabled)} enables another`),
];

/** With an engine, the servers have copies, and members find one another through them. */
const LOST_WITHOUT_ENGINE: readonly LostSetting[] = ['map', 'queue'].map((section) => ({
  pattern: `${section}.{name}.async-backup-count`,
  switchedBy: { name: '', off: '0', isOffByDefault: true },
  effect: NO_COPIES,
}));

const DISCOVERIES = ['multicast', 'aws', 'gcp', 'azure', 'kubernetes', 'eureka'] as const;

function discoveries(section: string): LostSetting[] {
  return [
    ...DISCOVERIES.map((name) => enabled(`${section}.join.${name}`, NO_DISCOVERY)),
    { pattern: `${section}.join.discovery-strategies`, effect: NO_DISCOVERY },
  ];
}

const ADDRESS_BY_CLASS = `${NO_CLASS}; ${pathOf(SETTINGS.publicAddress)} sets the address`;
const LOST_OF_NETWORK: readonly LostSetting[] = [
  enabled('network.memcache-protocol', NO_MEMCACHE),
  enabled('network.member-address-provider', ADDRESS_BY_CLASS),
];
const LOST_OF_ADVANCED_NETWORK: readonly LostSetting[] = [
  enabled('advanced-network.member-address-provider', ADDRESS_BY_CLASS),
  { pattern: 'advanced-network.memcache-server-socket-endpoint-config', effect: NO_MEMCACHE },
  { pattern: 'advanced-network.client-server-socket-endpoint-config', effect: NO_BINARY_CLIENTS },
  {
    pattern: 'advanced-network.wan-server-socket-endpoint-config',
    effect: 'this port is not opened; WAN events are received on the REST port',
  },
];

/** Returns the rows that apply. `isAdvanced`: whether `advanced-network` replaces `network`. */
export function unusedRows(config: Config, isAdvanced: boolean): UnusedRows {
  const { engineUrl, persistenceEnabled, persistenceSync } = config;
  const section = isAdvanced ? 'advanced-network' : 'network';
  const lost = [
    ...ALWAYS_LOST,
    ...(isAdvanced ? LOST_OF_ADVANCED_NETWORK : LOST_OF_NETWORK),
    ...(engineUrl === undefined ? [...LOST_WITHOUT_ENGINE, ...discoveries(section)] : []),
    ...(persistenceEnabled && persistenceSync !== 'always' ? LOST_WITHOUT_SYNC : []),
  ];
  return { lost, defaults: DEFAULTS };
}

const LOST_WITHOUT_SYNC: readonly LostSetting[] = ['data-persistence', 'hot-restart'].map(
  (section) => ({
    pattern: `map.{name}.${section}.fsync`,
    switchedBy: { name: '', off: 'FALSE', isOffByDefault: true },
    effect: NO_SYNC,
  }),
);

/** Returns the losses of settings that are used with `engine.url`, or only reported. */
export function countLosses(config: Config): UnusedFinding[] {
  if (config.engineUrl !== undefined) return [];
  const ofCounts = (['mapBackupCounts', 'queueBackupCounts'] as const).flatMap((key) => {
    const [name] = [...config[key]].find(([, count]) => count > 0) ?? [];
    if (name === undefined) return [];
    const place = config.sources.get(pathOf(SETTINGS[key], name))?.name ?? '';
    return [lossOf(`${pathOf(SETTINGS[key])}: ${NO_COPIES}`, place)];
  });
  if (!config.tcpIpEnabled) return ofCounts;
  const { name } = sourceOf(config, SETTINGS.tcpIpEnabled);
  return [...ofCounts, lossOf(`network.join.tcp-ip: ${NO_DISCOVERY}`, name)];
}

const PUT_IF_ABSENT = 'PUTIFABSENTMERGEPOLICY';
/** Defaults of a map and of a queue, by name in their section. */
const DEFAULTS_OF_DATA = {
  'statistics-enabled': ['TRUE'],
  'async-backup-count': ['0'],
  'merge-policy': [PUT_IF_ABSENT, `COM.HAZELCAST.SPI.MERGE.${PUT_IF_ABSENT}`],
  'merge-policy.class-name': [PUT_IF_ABSENT, `COM.HAZELCAST.SPI.MERGE.${PUT_IF_ABSENT}`],
  'merge-policy.batch-size': ['100'],
} as const;

const DEFAULTS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...['map', 'queue'].flatMap((section) =>
    Object.entries(DEFAULTS_OF_DATA).map(
      ([name, values]) => [`${section}.{name}.${name}`, values] as const,
    ),
  ),
  ['map.{name}.in-memory-format', ['BINARY']],
  ['map.{name}.metadata-policy', ['CREATE_ON_UPDATE']],
  ['map.{name}.cache-deserialized-values', ['INDEX_ONLY']],
  ['map.{name}.read-backup-data', ['FALSE']],
  ...['data-persistence', 'hot-restart'].map(
    (name) => [`map.{name}.${name}.fsync`, ['FALSE']] as const,
  ),
  // All maps are stored if persistence is enabled, and none otherwise.
  ...['data-persistence', 'hot-restart'].map(
    (name) => [`map.{name}.${name}.enabled`, ['TRUE']] as const,
  ),
  ['queue.{name}.empty-queue-ttl', ['_1']],
  ['network.reuse-address', ['FALSE']],
  ['network.join.auto-detection.enabled', ['TRUE']],
  ['network.join.tcp-ip.connection-timeout-seconds', ['5']],
  ['persistence.parallelism', ['1']],
  ['persistence.rebalance-delay-seconds', ['0']],
  ['hot-restart-persistence.parallelism', ['1']],
  ['management-center.scripting-enabled', ['FALSE']],
  ['management-center.console-enabled', ['FALSE']],
  ['management-center.data-access-enabled', ['TRUE']],
  ['metrics.enabled', ['TRUE']],
  ['metrics.collection-frequency-seconds', ['5']],
  ['metrics.jmx.enabled', ['TRUE']],
  ['metrics.management-center.enabled', ['TRUE']],
  ['metrics.management-center.retention-seconds', ['5']],
]);
