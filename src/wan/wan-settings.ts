/**
 * The settings of WAN replication, one row each: those of a member, of a publisher, and of a map.
 * Defaults of the latter two are those of the original 5.7.0, whose only ranges for a publisher are
 * those of 32-bit integers (WanBatchPublisherConfig). Tested by wan-reading.spec.ts.
 */

import { TIMER_SECONDS_MAX } from '../base/clock.ts';
import { nearestNames, questionOf } from '../config/nearest-name.ts';
import type { SectionRows } from '../config/section-reading.ts';
import {
  booleanRule,
  booleanSetting,
  bytesSetting,
  integerSetting,
  listSetting,
  nameRule,
  pathOf,
  type Setting,
  textSetting,
  type ValuesOf,
  wordSetting,
} from '../config/setting.ts';
import type { SettingRows } from '../config/setting-table.ts';
import { targetEndpointsIn } from './wan-endpoints.ts';

/** Patterns of the sections, as in statements. */
export const REPLICATION_PATTERN = 'wan-replication.{name}';
export const PUBLISHER_PATH = `${REPLICATION_PATTERN}.batch-publisher.{name}`;
/** A publisher in XML. */
export const PUBLISHER_ITEM = `${REPLICATION_PATTERN}.batch-publisher.[]`;
/** A map's reference to a replication. */
export const REF_PATH = 'map.{name}.wan-replication-ref.{name}';
export const ENDPOINT_PATTERN = 'advanced-network.wan-endpoint-config.{name}';

/**
 * Patterns that have an effect in addition to the rows: those of XML, and those that are refused.
 */
export const WAN_PATTERNS: readonly string[] = [
  ...[PUBLISHER_PATH, PUBLISHER_ITEM].flatMap((publisher) =>
    ['any', 'properties.{name}', 'sync.any'].map((name) => `${publisher}.${name}`),
  ),
  ...['custom-publisher.{name}.any', 'custom-publisher.any', 'consumer.any'].map(
    (name) => `${REPLICATION_PATTERN}.${name}`,
  ),
  `${REF_PATH}.filters.filter-impl`,
  ...['ssl.properties.{name}', 'symmetric-encryption.any', 'socket-interceptor.any'].map(
    (name) => `${ENDPOINT_PATTERN}.${name}`,
  ),
];

/** Start of the refusal of a class; the replacement follows. */
export const NO_CLASS = 'custom classes are not supported; ';

/** Sections of a publisher that discover its targets, in the original. */
export const DISCOVERIES = ['aws', 'gcp', 'azure', 'kubernetes', 'eureka'];

/** Words in the order of the numbers that the original has for them in requests. */
export const ACKNOWLEDGE_TYPES = ['ACK_ON_RECEIPT', 'ACK_ON_OPERATION_COMPLETE'] as const;
export const PUBLISHER_STATES = ['REPLICATING', 'PAUSED', 'STOPPED'] as const;
export const QUEUE_FULL_BEHAVIORS = [
  'DISCARD_AFTER_MUTATION',
  'THROW_EXCEPTION',
  'THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE',
] as const;
export const CONSISTENCY_CHECK_STRATEGIES = ['NONE', 'MERKLE_TREES'] as const;

const WAN_COMPRESSIONS = ['none', 'deflate'] as const;
export const MERGE_POLICIES = [
  'PassThrough',
  'PutIfAbsent',
  'LatestUpdate',
  'HigherHits',
  'LatestAccess',
  'ExpirationTime',
] as const;

/**
 * Maximum effective number of levels of a tree; a higher number is reduced to it, because every
 * level doubles the leaves.
 */
export const MERKLE_DEPTH_COUNTED_MAX = 16;
/** Prefix of a filter, before a pattern of keys; any other text is a class of the original. */
export const KEY_FILTER = 'key:';
/** Maximum number of filters of a map; all of them are tried for each change. */
export const FILTERS_MAX = 100;
/** Minimum and maximum depth, as in the original. */
const DEPTH = { min: 2, max: 27 };
const INTEGER_MAX = 2_147_483_647;
const SUFFIX = 'MergePolicy';
/** Maximum in s: ten years, longer than any target is unreachable. */
const RETENTION_SECONDS_MAX = 315_360_000;
/**
 * Maximum number of tombstones. Each takes about 40 bytes, which count towards the memory for data.
 */
const TOMBSTONES_LIMIT = 1_000_000_000;
/**
 * Limits for the queues of a member, in bytes; a shorter queue would accept no event with a value
 * of usual size.
 */
const QUEUE_BYTES_MIN = 1_048_576;
const QUEUE_BYTES_LIMIT = 1_099_511_627_776;

export const WAN_SETTINGS = {
  wanTombstoneRetentionSeconds: integerSetting({
    path: 'wan.tombstone-retention-seconds',
    about:
      'Time for which a delete, a clear or an expiry is recorded, in maps that take part in WAN replication, ' +
      'so that an older change that arrives later does not undo it',
    unit: 'seconds',
    fallback: 86_400,
    minimum: 1,
    maximum: RETENTION_SECONDS_MAX,
  }),
  wanTombstonesMax: integerSetting({
    path: 'wan.tombstones-max',
    about:
      'Maximum number of recorded deletes, clears and expiries; above it, the oldest are dropped',
    fallback: 1_000_000,
    minimum: 0,
    maximum: TOMBSTONES_LIMIT,
  }),
  wanQueueBytesMax: bytesSetting({
    path: 'wan.queue-bytes-max',
    about:
      'Maximum size of the events in the queues of all WAN publishers; each publisher has an equal share',
    unit: 'bytes',
    fallback: 268_435_456,
    fallbackText: '268435456, or 1/8 of the memory if that is less',
    minimum: QUEUE_BYTES_MIN,
    maximum: QUEUE_BYTES_LIMIT,
  }),
} as const satisfies SettingRows;

export type WanSettings = ValuesOf<typeof WAN_SETTINGS>;

export const PUBLISHER_SETTINGS = {
  clusterName: textSetting({
    path: at('cluster-name'),
    about: 'Cluster name that the target must have',
    fallback: undefined,
    fallbackText: 'in YAML the name of the block; dev if publisher-id is set',
    example: 'remote',
    ...nameRule,
  }),
  publisherId: textSetting({
    path: at('publisher-id'),
    about: 'Id of the publisher, unique in a replication',
    fallback: undefined,
    fallbackText: 'in YAML the name of the block; in XML the cluster-name',
    example: 'example',
    isBlankMissing: true,
    ...nameRule,
  }),
  targetEndpoints: textSetting({
    path: at('target-endpoints'),
    about: 'Members of the target, at least one, separated by commas; https:// enables TLS',
    fallback: undefined,
    fallbackText: 'none: it is required',
    example: '192.0.2.20:5701',
    expects:
      '[http[s]://]HOST[:PORT][/PATH-SEGMENT], several separated by commas; ' +
      'a user and a password are properties',
    allows: (text) => targetEndpointsIn(text) !== undefined,
    // A text before an @ may be a password.
    hides: (text) => text.includes('@'),
  }),
  endpoint: textSetting({
    path: at('endpoint'),
    about:
      'Name of the advanced-network.wan-endpoint-config whose ssl the connections use; ' +
      'without it, they use the one without a name in XML, or network.ssl',
    fallback: undefined,
    fallbackText: 'none',
    example: '""',
    expects: 'a text without control characters',
    allows: (text) => !/\p{Cc}/u.test(text),
  }),
  username: textSetting({
    path: at('properties.username'),
    about: 'User at the target, if its security is on',
    fallback: undefined,
    fallbackText: 'none',
    example: 'replicator',
    expects: `${nameRule.expects} and without a colon`,
    // HTTP Basic ends the user at the first colon (RFC 7617, section 2).
    allows: (text) => nameRule.allows(text) && !text.includes(':'),
  }),
  password: {
    ...textSetting({
      path: at('properties.password'),
      about: 'Password of that user',
      fallback: undefined,
      fallbackText: 'none',
      example: 'secret',
      expects: 'a text without control characters',
      allows: (text) => /^\P{Cc}+$/u.test(text),
    }),
    isSecret: true,
  },
  batchSize: integerSetting({
    path: at('batch-size'),
    about: 'Maximum number of events in a batch',
    unit: 'events',
    fallback: 500,
    minimum: 1,
    maximum: INTEGER_MAX,
  }),
  batchMaxDelayMs: integerSetting({
    path: at('batch-max-delay-millis'),
    about: 'Maximum time that an event waits for others of its batch',
    unit: 'ms',
    fallback: 1000,
    minimum: 0,
    maximum: INTEGER_MAX,
  }),
  responseTimeoutMs: integerSetting({
    path: at('response-timeout-millis'),
    about: 'Time after which a batch without an acknowledgement is sent again',
    unit: 'ms',
    fallback: 60_000,
    minimum: 1,
    maximum: INTEGER_MAX,
  }),
  acknowledgeType: oneOf(
    'acknowledge-type',
    ACKNOWLEDGE_TYPES,
    'ACK_ON_OPERATION_COMPLETE',
    'When the target acknowledges a batch: when it is received, or when it is applied',
  ),
  queueCapacity: integerSetting({
    path: at('queue-capacity'),
    about: 'Maximum number of events that are not acknowledged',
    unit: 'events',
    fallback: 10_000,
    minimum: 1,
    maximum: INTEGER_MAX,
  }),
  queueBytesMax: bytesSetting({
    path: at('queue-bytes-max'),
    about: 'Maximum size of these events; at most wan.queue-bytes-max',
    unit: 'bytes',
    fallback: 268_435_456,
    fallbackText: 'wan.queue-bytes-max',
    minimum: QUEUE_BYTES_MIN,
    maximum: QUEUE_BYTES_LIMIT,
  }),
  queueFullBehavior: oneOf(
    'queue-full-behavior',
    QUEUE_FULL_BEHAVIORS,
    'DISCARD_AFTER_MUTATION',
    'Effect of a full queue on a new change: the change is made and its event dropped, or the change is ' +
      'refused with 503, always or only while REPLICATING',
  ),
  initialPublisherState: oneOf(
    'initial-publisher-state',
    PUBLISHER_STATES,
    'REPLICATING',
    'State of the publisher after every start: PAUSED queues but does not send, STOPPED does neither',
  ),
  snapshotEnabled: booleanSetting({
    path: at('snapshot-enabled'),
    about: 'Whether only the latest event of a key is queued',
    fallback: false,
  }),
  discoveryPeriodSeconds: integerSetting({
    path: at('discovery-period-seconds'),
    about: 'Maximum time between two attempts to reach an endpoint',
    unit: 'seconds',
    fallback: 10,
    minimum: 1,
    maximum: TIMER_SECONDS_MAX,
  }),
  maxConcurrentInvocations: integerSetting({
    path: at('max-concurrent-invocations'),
    about:
      'Batches sent at the same time; below 2, one for each endpoint. A partition has one at a time',
    unit: 'batches',
    fallback: -1,
    minimum: -1,
    maximum: INTEGER_MAX,
  }),
  consistencyCheckStrategy: oneOf(
    'sync.consistency-check-strategy',
    CONSISTENCY_CHECK_STRATEGIES,
    'NONE',
    'Whether maps can be compared with the same maps of the target, by Merkle trees',
  ),
  compression: oneOf(
    'compression',
    WAN_COMPRESSIONS,
    'none',
    'Compression of the content of a batch',
  ),
} as const satisfies SectionRows;

export type PublisherKey = keyof typeof PUBLISHER_SETTINGS;

export const PUBLISHER_KEYS = Object.keys(PUBLISHER_SETTINGS) as readonly PublisherKey[];

export const MAP_WAN_SETTINGS = {
  mergePolicy: wordSetting<(typeof MERGE_POLICIES)[number]>({
    path: `${REF_PATH}.merge-policy-class-name`,
    about:
      'Decides between the received value of a key and the value at the target; the name may have a package ' +
      'prefix and the suffix MergePolicy. HigherHits and LatestAccess need per-entry-stats-enabled',
    fallback: 'PassThrough',
    expects: `one of ${MERGE_POLICIES.join(', ')}`,
    read: (text) => MERGE_POLICIES.find((name) => name === bareName(text)),
    advice: (text) => questionOf(nearestNames(bareName(text), MERGE_POLICIES)),
  }),
  republishingEnabled: booleanSetting({
    path: `${REF_PATH}.republishing-enabled`,
    about: 'Whether changes received from other clusters are sent on',
    fallback: true,
  }),
  filters: listSetting({
    path: `${REF_PATH}.filters`,
    about: 'Keys whose changes are not sent; "*" matches any text',
    fallback: [],
    fallbackText: 'none',
    example: `${KEY_FILTER}local-*`,
    expects: `texts of the form ${KEY_FILTER}PATTERN, at most ${FILTERS_MAX}`,
    allows: (text) => keyFilterOf(text) !== undefined,
  }),
  perEntryStatsEnabled: booleanSetting({
    path: 'map.{name}.per-entry-stats-enabled',
    about: 'Whether the number of reads of an entry, and the time of the last one, are recorded',
    fallback: false,
  }),
  merkleTreeEnabled: {
    path: 'map.{name}.merkle-tree.enabled',
    flags: [],
    about: 'Whether the map can be compared with the same map of a target',
    fallback: undefined,
    fallbackText: 'true if a publisher of the map has MERKLE_TREES',
    example: 'true',
    ...booleanRule,
  } satisfies Setting<boolean | undefined> as Setting<boolean | undefined>,
  merkleTreeDepth: integerSetting({
    path: 'map.{name}.merkle-tree.depth',
    about: `Levels of the tree of each partition; every further level doubles the leaves; more than ${MERKLE_DEPTH_COUNTED_MAX} count as ${MERKLE_DEPTH_COUNTED_MAX}`,
    unit: 'levels',
    fallback: 10,
    minimum: DEPTH.min,
    maximum: DEPTH.max,
  }),
} as const satisfies SectionRows;

export type MapWanKey = keyof typeof MAP_WAN_SETTINGS;

/**
 * Returns the name of a setting below its publisher, as in a file:
 * `sync.consistency-check-strategy`.
 */
export function publisherNameOf(key: PublisherKey): string {
  return (PUBLISHER_SETTINGS[key].path ?? '').slice(PUBLISHER_PATH.length + 1);
}

function at(name: string): string {
  return `${PUBLISHER_PATH}.${name}`;
}

function oneOf<Word extends string>(
  name: string,
  words: readonly Word[],
  fallback: Word,
  about: string,
): Setting<Word> {
  return wordSetting<Word>({
    path: at(name),
    about,
    fallback,
    expects: `one of ${words.join(', ')}`,
    read: (text) => words.find((word) => word.toUpperCase() === text.toUpperCase()),
  });
}

/** Returns the pattern of a filter of keys, or undefined for any other text. */
export function keyFilterOf(text: string): string | undefined {
  const pattern = text.slice(KEY_FILTER.length);
  return text.startsWith(KEY_FILTER) && pattern !== '' ? pattern : undefined;
}

/** Returns the name without a package and the suffix. */
function bareName(text: string): string {
  const name = text.slice(text.lastIndexOf('.') + 1);
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name;
}

/** Logged when tombstones are dropped before their retention ends. */
export const TOMBSTONES_DROPPED: string =
  `tombstones were dropped early, as ${pathOf(WAN_SETTINGS.wanTombstonesMax)} was reached: an older change ` +
  'from another cluster may restore a removed entry';
