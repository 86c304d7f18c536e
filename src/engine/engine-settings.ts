/** Settings of the data engine, in the member or on servers. */

import { engineUrlAdvice, hasSecret, parseEngineUrl } from '../base/engine-url.ts';
import { SETTINGS_IN_MESSAGES } from '../base/settings-in-messages.ts';
import {
  booleanSetting,
  integerRule,
  integerSetting,
  type NamedSetting,
  parseBytes,
  pathRule,
  type Setting,
  textSetting,
  type ValuesOf,
  wordSetting,
} from '../config/setting.ts';
import type { SettingRows } from '../config/setting-table.ts';

/**
 * Maximum number of partitions. Each has its own index; beyond this number, more cost more than
 * they gain.
 */
const PARTITION_COUNT_MAX = 32768;
/** Minimum in bytes. Less would be used up by a few partitions, each of which takes 64 KiB. */
const MEMORY_BYTES_MIN = 1_048_576;
/** Share of the memory for stored data. */
export const MEMORY_SHARE = 0.7;
/**
 * Minimum in ms. Servers check timeouts ten times a second, so less would be too short for
 * replicas.
 */
const DEADLINE_MILLIS_MIN = 1000;
const DEADLINE_MILLIS_MAX = 600_000;
/**
 * Minimum in s. A member sends a heartbeat every second and counts as out of touch after three, so
 * less would remove live members.
 */
const NO_HEARTBEAT_SECONDS_MIN = 5;
const NO_HEARTBEAT_SECONDS_MAX = 3600;
/** Largest number of backups, as in the original. */
const BACKUP_COUNT_MAX = 6;

export const MEMORY_SETTINGS = {
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
} as const satisfies SettingRows;

export const PARTITION_SETTINGS = {
  partitionCount: integerSetting({
    path: SETTINGS_IN_MESSAGES.partitionCount,
    aliases: ['properties.hazelcast.partition.count'],
    flag: { name: '--partition-count', argument: 'COUNT' },
    about: 'Number of partitions for keys; fixed for the lifetime of the data',
    fallback: 271,
    minimum: 1,
    maximum: PARTITION_COUNT_MAX,
  }),
} as const satisfies SettingRows;

/** The servers that store the data of several members. */
export const ENGINE_SETTINGS = {
  engineUrl: {
    ...textSetting({
      path: 'engine.url',
      flag: { name: '--engine', argument: 'URL' },
      about:
        'Redis or Valkey servers that store the data of several members: redis://HOST:PORT,…, rediss:// over ' +
        'TLS, ?sentinel=NAME for Sentinels',
      fallback: undefined,
      fallbackText: 'none: the member stores its data itself',
      example: 'redis://192.0.2.10:6379',
      expects: 'redis://HOST:PORT or rediss://HOST:PORT, several separated by commas',
      allows: isUrl,
    }),
    hides: hasSecret,
    advice: engineUrlAdvice,
  },
  engineUser: engineText(
    SETTINGS_IN_MESSAGES.engineUser,
    'User name at the servers',
    'a text',
    'the default user',
  ),
  enginePassword: {
    ...engineText(SETTINGS_IN_MESSAGES.enginePassword, 'Password of that user', 'a text', 'none'),
    isSecret: true,
  },
  engineDeadlineMillis: integerSetting({
    path: 'engine.deadline-millis',
    about: 'Maximum time that a request waits for the servers; then 503',
    unit: 'ms',
    fallback: 5000,
    minimum: DEADLINE_MILLIS_MIN,
    maximum: DEADLINE_MILLIS_MAX,
  }),
  engineNoHeartbeatSeconds: integerSetting({
    path: 'engine.max-no-heartbeat-seconds',
    aliases: ['properties.hazelcast.max.no.heartbeat.seconds'],
    about: 'Time without a heartbeat after which the other members remove a member',
    unit: 'seconds',
    fallback: 10,
    minimum: NO_HEARTBEAT_SECONDS_MIN,
    maximum: NO_HEARTBEAT_SECONDS_MAX,
  }),
  engineAllowEviction: booleanSetting({
    path: SETTINGS_IN_MESSAGES.engineAllowEviction,
    about: 'Whether servers are used that may evict stored data: maxmemory with an allkeys- policy',
    fallback: false,
  }),
  mapBackupCounts: backupCounts('map'),
  queueBackupCounts: backupCounts('queue'),
  engineTlsCa: engineFile('ca', 'Certificate authorities of the servers, in PEM form'),
  engineTlsCertificate: engineFile(
    'certificate',
    'Certificate that the member presents to the servers, in PEM form',
  ),
  engineTlsKey: engineFile('key', 'Private key of that certificate, in PEM form'),
} as const satisfies SettingRows;

export type EngineConfig = ValuesOf<
  typeof MEMORY_SETTINGS & typeof PARTITION_SETTINGS & typeof ENGINE_SETTINGS
>;

function backupCounts(kind: 'map' | 'queue'): NamedSetting<string, number> {
  return {
    path: `${kind}.{name}.backup-count`,
    flags: [],
    about: `Replicas of a server that must have a change of the ${kind} before the response is sent`,
    unit: 'replicas',
    fallback: new Map(),
    fallbackText: '1 on a Cluster or with Sentinels, 0 on one server',
    example: '1',
    isSparse: true,
    parseName: (text) => (text === '' ? undefined : text),
    ...integerRule(0, BACKUP_COUNT_MAX),
  };
}

function engineText(
  path: string,
  about: string,
  expects: string,
  fallbackText: string,
): Setting<string | undefined> {
  return textSetting({
    path,
    about,
    ...pathRule,
    expects,
    fallbackText,
    fallback: undefined,
    example: 'grid',
  });
}

function engineFile(name: string, about: string): Setting<string | undefined> {
  return {
    ...engineText(
      `engine.tls.${name}`,
      about,
      'a path',
      name === 'ca' ? 'those of the system' : 'none',
    ),
    example: 'path/to/file',
  };
}

function isUrl(text: string): boolean {
  try {
    return parseEngineUrl(text) !== undefined;
  } catch {
    return false;
  }
}

function readMemory(text: string): number | undefined {
  const bytes = parseBytes(text) ?? 0;
  return bytes >= MEMORY_BYTES_MIN && bytes <= Number.MAX_SAFE_INTEGER ? bytes : undefined;
}
