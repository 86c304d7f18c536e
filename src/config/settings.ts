/**
 * All settings, in one table. Flags and their help, checks, defaults and the type of the effective
 * configuration are derived from it. Tested by config.spec.ts.
 */

import { LOG_LEVELS, type LogLevel, parseLogLevel } from '../base/log-level.ts';
import { DEFAULT_PORT } from '../base/server-address.ts';
import { SETTINGS_IN_MESSAGES } from '../base/settings-in-messages.ts';
import { BROWSER_SETTINGS } from './browser-settings.ts';
import { COMPATIBILITIES, type Compatibility, parseCompatibility } from './compatibility.ts';
import {
  ENDPOINT_GROUP_NAMES,
  ENDPOINT_GROUPS,
  type EndpointGroup,
  parseEndpointGroup,
} from './endpoint-group.ts';
import { ENGINE_SETTINGS } from './engine-settings.ts';
import { isInterfacePattern } from './interface-pattern.ts';
import { LIMIT_SETTINGS } from './limit-settings.ts';
import { PERSISTENCE_SETTINGS } from './persistence-settings.ts';
import {
  type AnySetting,
  booleanRule,
  booleanSetting,
  type Flag,
  integerRule,
  integerSetting,
  listSetting,
  type NamedSetting,
  nameRule,
  parseBytes,
  type Reloadable,
  reloadable,
  type Setting,
  textSetting,
  wordSetting,
} from './setting.ts';
import { TLS_SETTINGS } from './tls-settings.ts';
import { WAN_SETTINGS } from './wan-settings.ts';

/** Largest port; 0 makes the system choose a free one. */
const PORT_MAX = 65535;
/**
 * Maximum number of partitions. Each has its own index; beyond this number, more cost more than
 * they gain.
 */
const PARTITION_COUNT_MAX = 32768;
/** Minimum in bytes. Less would be used up by a few partitions, each of which takes 64 KiB. */
const MEMORY_BYTES_MIN = 1_048_576;
/** Maximum in s: a load balancer takes a member out of service within seconds. */
const SHUTDOWN_DELAY_SECONDS_MAX = 3600;
/** The largest 32-bit integer, as in other members' configuration. */
const QUEUE_SIZE_MAX = 2_147_483_647;
const MAP_SECONDS_MAX = 2_147_483_647;
/** Share of the memory for stored data. */
export const MEMORY_SHARE = 0.7;
const AUTHENTICATIONS = ['none', 'basic', 'basic-all'] as const;

export type Authentication = (typeof AUTHENTICATIONS)[number];

export const SETTINGS = {
  host: textSetting({
    flag: { name: '--host', argument: 'HOST' },
    about: 'Address or host name to listen on',
    fallback: '127.0.0.1',
    fallbackText: '127.0.0.1, and all interfaces with a configuration file',
    expects: 'an address or host name',
    allows: (text) => /^[^\s/]+$/.test(text),
  }),
  port: integerSetting({
    path: 'network.port.port',
    aliases: ['network.port'],
    flag: { name: '--port', argument: 'PORT' },
    about: 'Port to listen on; 0 selects a free one',
    fallback: DEFAULT_PORT,
    minimum: 0,
    maximum: PORT_MAX,
  }),
  healthPort: {
    path: 'network.health-port',
    flags: [{ name: '--health-port', argument: 'PORT' }],
    about: 'A second port that serves only health, never over TLS; 0 selects a free one',
    fallback: undefined,
    fallbackText: 'none',
    example: '5702',
    ...integerRule(0, PORT_MAX),
  } satisfies Setting<number | undefined> as Setting<number | undefined>,
  ...TLS_SETTINGS,
  portAutoIncrement: booleanSetting({
    path: 'network.port.auto-increment',
    about: 'Whether the next port is tried if one is in use; never with --port',
    fallback: true,
  }),
  portCount: integerSetting({
    path: 'network.port.port-count',
    about: 'Number of ports to try',
    fallback: 100,
    minimum: 1,
    maximum: PORT_MAX + 1,
  }),
  publicAddress: textSetting({
    path: 'network.public-address',
    about: 'Address that the member reports as its own: host, or host and port',
    fallback: undefined,
    fallbackText: 'the bound address, or the first that is not loopback',
    example: '192.0.2.1:5701',
    expects: 'a host, or a host and port',
    allows: (text) => /^([^\s/:]+|\[[0-9a-f:.]+\])(:\d{1,5})?$|^[0-9a-f:.]+$/i.test(text),
  }),
  interfacesEnabled: booleanSetting({
    path: 'network.interfaces.enabled',
    about: 'Whether the member listens on one of network.interfaces.interfaces',
    fallback: false,
  }),
  interfaces: listSetting({
    path: 'network.interfaces.interfaces',
    about: 'Addresses, of which the first that this host has is used; parts may be "*" or "4-18"',
    fallback: [],
    fallbackText: 'none',
    example: '10.3.10.*',
    expects: 'addresses whose parts may be "*" or a range such as "4-18"',
    allows: isInterfacePattern,
  }),
  tcpIpEnabled: booleanSetting({
    path: 'network.join.tcp-ip.enabled',
    about:
      'Whether a list of members is stored for requests to read and change; it has no other effect',
    fallback: false,
  }),
  tcpIpMembers: listSetting({
    path: 'network.join.tcp-ip.member-list',
    aliases: ['interface', 'member', 'members'].map((name) => `network.join.tcp-ip.${name}`),
    about: 'Members of that list',
    fallback: [],
    fallbackText: 'none',
    example: '10.3.10.4:5701',
    expects: 'addresses',
    allows: (text) => !/\s/.test(text),
  }),
  clusterName: textSetting({
    path: SETTINGS_IN_MESSAGES.clusterName,
    flag: { name: '--cluster-name', argument: 'NAME' },
    about: 'Name of the cluster, which administrative requests must contain',
    fallback: 'dev',
    ...nameRule(),
  }),
  instanceName: textSetting({
    path: 'instance-name',
    flag: { name: '--instance-name', argument: 'NAME' },
    about: 'Name of this member',
    fallback: undefined,
    fallbackText: 'gridnode-<port>',
    example: 'member-1',
    ...nameRule(),
  }),
  liteMember: booleanSetting({
    path: 'lite-member.enabled',
    about: 'Whether the member is reported as a lite member; it serves the same requests',
    fallback: false,
  }),
  logLevel: reloadable(
    wordSetting<LogLevel>({
      path: 'log-level',
      flag: { name: '--log-level', argument: 'LEVEL' },
      about: 'Level of the log',
      fallback: 'INFO',
      expects: `one of ${Object.keys(LOG_LEVELS).join(', ')}`,
      read: parseLogLevel,
    }),
  ),
  pathSegment: textSetting({
    path: 'network.rest-api.path-segment',
    flag: { name: '--path-segment', argument: 'SEGMENT' },
    about: 'First segment of every path',
    fallback: undefined,
    fallbackText: 'grid; hazelcast with --compatibility hazelcast',
    expects: 'letters, digits, "-", "_", "." and "~", at most 255, and not "." or ".."',
    allows: (text) => /^(?!\.\.?$)[A-Za-z0-9\-_.~]{1,255}$/.test(text),
  }),
  restEnabled: reloadable(
    booleanSetting({
      path: 'network.rest-api.enabled',
      about: 'Whether the REST interface is served; --enable-group also enables it',
      fallback: true,
      fallbackText: 'true, and false with a configuration file',
    }),
  ),
  authentication: wordSetting<Authentication>({
    path: 'network.rest-api.authentication',
    about:
      'Whether maps, queues and other paths without credentials in the body require a login by ' +
      'HTTP Basic; basic-all: also health, except live and ready',
    fallback: 'none',
    expects: 'one of none, basic, basic-all',
    read: (text) => AUTHENTICATIONS.find((word) => word === text.toLowerCase()),
  }),
  ...BROWSER_SETTINGS,
  compatibility: wordSetting<Compatibility>({
    path: 'compatibility',
    flag: { name: '--compatibility', argument: 'NAME' },
    about: 'System whose clients get the responses that they expect',
    fallback: 'none',
    fallbackText: 'none; hazelcast with a file whose root is hazelcast',
    expects: `one of ${COMPATIBILITIES.join(', ')}`,
    read: parseCompatibility,
  }),
  endpointGroups: reloadable<NamedSetting<EndpointGroup, boolean>>({
    path: 'network.rest-api.endpoint-groups.{name}.enabled',
    aliases: ['network.rest-api.endpoint-groups.{name}'],
    flags: [groupFlag('--enable-group', true), groupFlag('--disable-group', false)],
    about: 'Whether the endpoints of the group are served',
    fallback: new Map(ENDPOINT_GROUP_NAMES.map((name) => [name, ENDPOINT_GROUPS[name]])),
    parseName: parseEndpointGroup,
    ...booleanRule,
  }),
  queueMaxSizes: {
    path: 'queue.{name}.max-size',
    flags: [
      {
        name: '--queue',
        argument: 'NAME=MAX',
        about: 'Capacity of the queue in items, 0 for no limit; "*" in NAME matches any text',
        expects: `NAME=MAX with a NAME and MAX ${integerRule(0, QUEUE_SIZE_MAX).expects}`,
        split: splitAtLastEquals,
      },
    ],
    about: 'Capacity of the queue; 0 for no limit',
    unit: 'items',
    fallback: new Map(),
    parseName: (text) => (text === '' ? undefined : text),
    ...integerRule(0, QUEUE_SIZE_MAX),
  } satisfies NamedSetting<string, number> as NamedSetting<string, number>,
  maxMemory: wordSetting<number>({
    path: SETTINGS_IN_MESSAGES.maxMemory,
    flag: { name: '--max-memory', argument: 'BYTES' },
    about: 'Memory for stored data, in bytes or with k, m, g; writes above it get 503',
    fallback: MEMORY_BYTES_MIN,
    fallbackText:
      `${MEMORY_SHARE * 100} % of the memory of the machine or container, or less if the process ` +
      'and in-flight-bytes-max need more than the rest',
    example: '4g',
    expects: 'a number of bytes from 1m up, or one with k, m or g',
    read: readMemory,
  }),
  mapTimeToLiveSeconds: secondsByMap(
    'time-to-live-seconds',
    'Time that an entry remains after it was written; 0 for no limit',
  ),
  mapMaxIdleSeconds: secondsByMap(
    'max-idle-seconds',
    'Time that an entry remains after it was last read or written; 0 for no limit',
  ),
  partitionCount: integerSetting({
    path: SETTINGS_IN_MESSAGES.partitionCount,
    aliases: ['properties.hazelcast.partition.count'],
    flag: { name: '--partition-count', argument: 'COUNT' },
    about: 'Number of partitions for keys; fixed for the lifetime of the data',
    fallback: 271,
    minimum: 1,
    maximum: PARTITION_COUNT_MAX,
  }),

  shutdownDelaySeconds: integerSetting({
    path: 'shutdown.delay-seconds',
    flag: { name: '--shutdown-delay-seconds', argument: 'SECONDS' },
    about: 'Time before the member drains, in which health/ready is 503 and all else is served',
    unit: 'seconds',
    fallback: 0,
    minimum: 0,
    maximum: SHUTDOWN_DELAY_SECONDS_MAX,
  }),

  ...PERSISTENCE_SETTINGS,
  ...ENGINE_SETTINGS,
  ...WAN_SETTINGS,

  ...LIMIT_SETTINGS,
  failIfValueMissing: booleanSetting({
    path: 'config-replacers.fail-if-value-missing',
    about: 'Whether a placeholder without a value is an error instead of a warning',
    fallback: false,
  }),
} as const satisfies Readonly<Record<string, AnySetting>>;

export type Settings = typeof SETTINGS;
export type SettingKey = keyof Settings;

/** The settings whose changes a running member applies. */
type ReloadableKey = {
  [Key in SettingKey]: Settings[Key] extends Reloadable<object> ? Key : never;
}[SettingKey];

export function isReloadable(key: SettingKey): key is ReloadableKey {
  return 'isReloadable' in SETTINGS[key];
}

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

export function rowOf(key: SettingKey): AnySetting {
  return SETTINGS[key];
}

/**
 * Returns the path of a setting, with `name` in place of its free name, or the flag of a setting
 * without a path.
 */
export function pathOf(key: SettingKey, name = '{name}'): string {
  const { path, flags } = rowOf(key);
  if (path === undefined) return flags[0]?.name ?? key;
  const at = path.indexOf('{name}');
  return at < 0 ? path : path.slice(0, at) + name + path.slice(at + '{name}'.length);
}

function secondsByMap(name: string, about: string): NamedSetting<string, number> {
  return {
    path: `map.{name}.${name}`,
    flags: [],
    about,
    unit: 'seconds',
    fallback: new Map(),
    parseName: (text) => (text === '' ? undefined : text),
    ...integerRule(0, MAP_SECONDS_MAX),
  };
}

function groupFlag(name: string, enabled: boolean): Flag {
  const does = enabled ? 'Serve' : 'Do not serve';
  const served = ENDPOINT_GROUP_NAMES.filter((group) => ENDPOINT_GROUPS[group]);
  return {
    ...(enabled ? { implies: { restEnabled: 'true' } } : {}),
    name,
    argument: 'GROUP',
    about:
      `${does} the endpoints of the group: ${ENDPOINT_GROUP_NAMES.join(', ')} or all ` +
      `(repeatable; default ${served.join(', ')})`,
    expects: `one of ${ENDPOINT_GROUP_NAMES.join(', ')}, all`,
    split(text) {
      const names = text.toLowerCase() === 'all' ? ENDPOINT_GROUP_NAMES : [text];
      return names.map((group) => [group, String(enabled)] as const);
    },
  };
}

function readMemory(text: string): number | undefined {
  const bytes = parseBytes(text) ?? 0;
  return bytes >= MEMORY_BYTES_MIN && bytes <= Number.MAX_SAFE_INTEGER ? bytes : undefined;
}

function splitAtLastEquals(text: string): [[name: string, text: string]] | undefined {
  const at = text.lastIndexOf('=');
  return at < 0 ? undefined : [[text.slice(0, at), text.slice(at + 1)]];
}
