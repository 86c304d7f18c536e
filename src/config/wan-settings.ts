/** Settings of a member that takes part in WAN replication: rows of the table in settings.ts. */
import { bytesSetting, integerSetting, type Setting } from './setting.ts';

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
export const QUEUE_BYTES_MIN = 1_048_576;
export const QUEUE_BYTES_LIMIT = 1_099_511_627_776;

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
} as const satisfies Readonly<Record<string, Setting<number>>>;
