/** The settings of a member that takes part in WAN replication: rows of the table in settings.ts. */
import { bytesSetting, integerSetting, type Setting } from './setting.ts';

/** Ten years: more than any target is out of reach. */
const RETENTION_SECONDS_MAX = 315_360_000;
/** Each takes some 40 bytes, all of which count against the memory for data. */
const TOMBSTONES_LIMIT = 1_000_000_000;
/** Limits for the queues of a member, in bytes: a shorter one would take no event of a usual value. */
export const QUEUE_BYTES_MIN = 1_048_576;
export const QUEUE_BYTES_LIMIT = 1_099_511_627_776;

export const WAN_SETTINGS = {
  wanTombstoneRetentionSeconds: integerSetting({
    path: 'wan.tombstone-retention-seconds',
    about:
      'How long a delete, a clear or an expiry is remembered, in maps that take part in WAN replication, so ' +
      'that an older change that comes later does not undo it',
    unit: 'seconds',
    fallback: 86_400,
    minimum: 1,
    maximum: RETENTION_SECONDS_MAX,
  }),
  wanTombstonesMax: integerSetting({
    path: 'wan.tombstones-max',
    about: 'How many of them are remembered at most; beyond it the oldest go',
    fallback: 1_000_000,
    minimum: 0,
    maximum: TOMBSTONES_LIMIT,
  }),
  wanQueueBytesMax: bytesSetting({
    path: 'wan.queue-bytes-max',
    about:
      'Bytes of the events that wait in the queues of all WAN publishers; each of them has an equal share',
    unit: 'bytes',
    fallback: 268_435_456,
    fallbackText: '268435456, or 1/8 of the memory where that is less',
    minimum: QUEUE_BYTES_MIN,
    maximum: QUEUE_BYTES_LIMIT,
  }),
} as const satisfies Readonly<Record<string, Setting<number>>>;
