/**
 * All settings, in one table: the rows of the parts of a member, in the order of help and
 * documentation. Flags and their help, checks, defaults and the type of the effective configuration
 * are derived from it. Tested by config.spec.ts.
 */
import { CLUSTER_SETTINGS } from '../cluster/cluster-settings.ts';
import { PLACEHOLDER_SETTINGS } from '../config/placeholders.ts';
import { type AnySetting, isNamed, type NamedSetting, type Reloadable } from '../config/setting.ts';
import { flagsOf, type SettingRows, SettingTable } from '../config/setting-table.ts';
import { CP_SETTINGS } from '../cp/cp-settings.ts';
import { MAP_SETTINGS, QUEUE_SETTINGS } from '../data/data-settings.ts';
import { ENGINE_SETTINGS, MEMORY_SETTINGS, PARTITION_SETTINGS } from '../engine/engine-settings.ts';
import { PERSISTENCE_SETTINGS } from '../persistence/persistence-settings.ts';
import { TLS_SETTINGS } from '../security/tls-settings.ts';
import {
  ADDRESS_SETTINGS,
  LIMIT_SETTINGS,
  LISTENING_SETTINGS,
  SHUTDOWN_SETTINGS,
} from '../servers/server-settings.ts';
import { SURFACE_SETTINGS } from '../surface/surface-settings.ts';
import { LOG_SETTINGS } from '../telemetry/log-settings.ts';
import {
  MAP_WAN_SETTINGS,
  PUBLISHER_SETTINGS,
  WAN_PATTERNS,
  WAN_SETTINGS,
} from '../wan/wan-settings.ts';

export const SETTINGS = {
  ...ADDRESS_SETTINGS,
  ...TLS_SETTINGS,
  ...LISTENING_SETTINGS,
  ...CLUSTER_SETTINGS,
  ...LOG_SETTINGS,
  ...SURFACE_SETTINGS,
  ...QUEUE_SETTINGS,
  ...MEMORY_SETTINGS,
  ...MAP_SETTINGS,
  ...PARTITION_SETTINGS,
  ...SHUTDOWN_SETTINGS,
  ...PERSISTENCE_SETTINGS,
  ...ENGINE_SETTINGS,
  ...WAN_SETTINGS,
  ...CP_SETTINGS,
  ...LIMIT_SETTINGS,
  ...PLACEHOLDER_SETTINGS,
} as const satisfies SettingRows;

type Settings = typeof SETTINGS;
export type SettingKey = keyof Settings;

/** The settings whose changes a running member applies. */
type ReloadableKey = {
  [Key in SettingKey]: Settings[Key] extends Reloadable<object> ? Key : never;
}[SettingKey];

export function isReloadable(key: SettingKey): key is ReloadableKey {
  return 'isReloadable' in SETTINGS[key];
}

/** The settings with a number for each map or queue. */
export type NamedKey = {
  [Key in SettingKey]: Settings[Key] extends NamedSetting<string, number> ? Key : never;
}[SettingKey];

/** Returns those of a section: `map.{name}`. */
export function namedKeys(section: string): readonly NamedKey[] {
  return SETTING_KEYS.filter((key): key is NamedKey => {
    const { path = '' }: AnySetting = SETTINGS[key];
    return path.startsWith(`${section}.`) && key !== 'endpointGroups';
  });
}

/** Returns whether the setting is 0 for a configured map or queue that omits it. */
export function isFilled(key: SettingKey): key is NamedKey {
  const row: AnySetting = SETTINGS[key];
  return isNamed(row) && row.isSparse !== true && key !== 'endpointGroups';
}

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

export const TABLE = new SettingTable(
  SETTINGS,
  [PUBLISHER_SETTINGS, MAP_WAN_SETTINGS],
  WAN_PATTERNS,
);

/** Every flag of a setting, in the order of the table. */
export const SETTING_FLAGS = flagsOf(TABLE);
