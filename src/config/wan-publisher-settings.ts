/**
 * Settings of a WAN publisher, one row each. A file and a request use the same rows; in a request a
 * name is written as `batchSize` for `batch-size`. Defaults are those of the original
 * (WanBatchPublisherConfig), whose only ranges are those of 32-bit integers. Tested by wan.spec.ts.
 */
import {
  booleanSetting,
  bytesSetting,
  integerSetting,
  nameRule,
  type Setting,
  textSetting,
  wordSetting,
} from './setting.ts';
import {
  ACKNOWLEDGE_TYPES,
  CONSISTENCY_CHECK_STRATEGIES,
  PUBLISHER_STATES,
  QUEUE_FULL_BEHAVIORS,
  WAN_COMPRESSIONS,
  type WanPublisher,
} from './wan-config.ts';
import { targetEndpointsIn } from './wan-endpoints.ts';
import { PUBLISHER_PATH } from './wan-paths.ts';
import { QUEUE_BYTES_LIMIT, QUEUE_BYTES_MIN } from './wan-settings.ts';

const INTEGER_MAX = 2_147_483_647;
/** Maximum delay of a timer, in s. */
const TIMEOUT_SECONDS_MAX = 2_147_483;

export const PUBLISHER_SETTINGS = {
  clusterName: textSetting({
    path: at('cluster-name'),
    about: 'Cluster name that the target must have',
    fallback: undefined,
    fallbackText: 'in YAML the name of the block; dev if publisher-id is set',
    example: 'remote',
    ...nameRule(),
  }),
  publisherId: textSetting({
    path: at('publisher-id'),
    about: 'Id of the publisher, unique in a replication',
    fallback: undefined,
    fallbackText: 'in YAML the name of the block; in XML the cluster-name',
    example: 'example',
    ...nameRule(),
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
    expects: `${nameRule().expects} and without a colon`,
    // HTTP Basic ends the user at the first colon (RFC 7617, section 2).
    allows: (text) => nameRule().allows(text) && !text.includes(':'),
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
  acknowledgeType: oneOf('acknowledge-type', ACKNOWLEDGE_TYPES, 'ACK_ON_OPERATION_COMPLETE', {
    about: 'When the target acknowledges a batch: when it is received, or when it is applied',
  }),
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
  queueFullBehavior: oneOf('queue-full-behavior', QUEUE_FULL_BEHAVIORS, 'DISCARD_AFTER_MUTATION', {
    about:
      'Effect of a full queue on a new change: the change is made and its event dropped, or the change is ' +
      'refused with 503, always or only while REPLICATING',
  }),
  initialPublisherState: oneOf('initial-publisher-state', PUBLISHER_STATES, 'REPLICATING', {
    about:
      'State of the publisher after every start: PAUSED queues but does not send, STOPPED does neither',
  }),
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
    maximum: TIMEOUT_SECONDS_MAX,
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
    { about: 'Whether maps can be compared with the same maps of the target, by Merkle trees' },
  ),
  compression: oneOf('compression', WAN_COMPRESSIONS, 'none', {
    about: 'Compression of the content of a batch',
  }),
} as const satisfies { readonly [Key in PublisherKey]: Setting<unknown> };

/**
 * The fields of a publisher that each have a setting, and the name of an endpoint configuration.
 */
export type PublisherKey = Exclude<keyof WanPublisher, 'tls'> | 'endpoint';

export const PUBLISHER_KEYS = Object.keys(PUBLISHER_SETTINGS) as readonly PublisherKey[];

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
  { about }: { readonly about: string },
): Setting<Word> {
  return wordSetting<Word>({
    path: at(name),
    about,
    fallback,
    expects: `one of ${words.join(', ')}`,
    read: (text) => words.find((word) => word.toUpperCase() === text.toUpperCase()),
  });
}
