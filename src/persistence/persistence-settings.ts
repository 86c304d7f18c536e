/**
 * Settings of the data on disk: rows of the table in settings.ts. Tested by member/config.spec.ts.
 */

import { TIMER_SECONDS_MAX } from '../base/clock.ts';
import { SETTINGS_IN_MESSAGES } from '../base/settings-in-messages.ts';
import {
  booleanSetting,
  integerSetting,
  pathRule,
  type Setting,
  textSetting,
  type ValuesOf,
  wordSetting,
} from '../config/setting.ts';
import type { SettingRows } from '../config/setting-table.ts';

const SYNC_MODES = ['always', 'interval', 'never'] as const;
const HOUR_MS = 3_600_000;

const RECOVERY_POLICIES = [
  'FULL_RECOVERY_ONLY',
  'PARTIAL_RECOVERY_MOST_RECENT',
  'PARTIAL_RECOVERY_MOST_COMPLETE',
] as const;

type RecoveryPolicy = (typeof RECOVERY_POLICIES)[number];

export const PERSISTENCE_SETTINGS = {
  persistenceEnabled: booleanSetting({
    path: 'persistence.enabled',
    aliases: ['hot-restart-persistence.enabled'],
    about: 'Whether data is stored on disk; --data-dir also enables this',
    fallback: false,
  }),
  dataDirectory: textSetting({
    path: 'persistence.base-dir',
    aliases: ['hot-restart-persistence.base-dir'],
    flag: {
      name: '--data-dir',
      argument: 'DIR',
      about:
        'Store the data in this directory; created if it is missing (a path; default none: without ' +
        'persistence.enabled in a file, the data is lost when the process ends)',
      implies: { persistenceEnabled: 'true' },
    },
    about: 'Directory of the data; created if it is missing',
    fallback: 'persistence',
    fallbackText: 'persistence, if persistence.enabled is true; otherwise no data is stored',
    ...pathRule,
  }),
  backupDirectory: textSetting({
    path: SETTINGS_IN_MESSAGES.backupDirectory,
    aliases: ['hot-restart-persistence.backup-dir'],
    flag: { name: '--backup-dir', argument: 'DIR' },
    about: 'Directory of the backups, each in its own subdirectory; created if it is missing',
    fallback: undefined,
    fallbackText: 'none: there are no backups',
    example: 'backups',
    ...pathRule,
  }),
  recoveryPolicy: wordSetting<RecoveryPolicy>({
    path: SETTINGS_IN_MESSAGES.recoveryPolicy,
    aliases: ['hot-restart-persistence.cluster-data-recovery-policy'],
    about: 'Whether a member with damaged data may start with the readable part of it',
    fallback: 'FULL_RECOVERY_ONLY',
    expects: RECOVERY_POLICIES.join(', '),
    read: (text) => RECOVERY_POLICIES.find((word) => word === text.toUpperCase()),
  }),
  autoRemoveStaleData: booleanSetting({
    path: 'persistence.auto-remove-stale-data',
    aliases: ['hot-restart-persistence.auto-remove-stale-data'],
    about: 'Whether a start removes stale data; otherwise the data is moved aside',
    fallback: true,
  }),
  validationTimeoutSeconds: timeoutSetting(
    'validation-timeout-seconds',
    'Maximum time to validate the stored data at start',
    120,
  ),
  dataLoadTimeoutSeconds: timeoutSetting(
    'data-load-timeout-seconds',
    'Maximum time to load the data at start',
    900,
  ),
  persistenceSync: wordSetting<(typeof SYNC_MODES)[number]>({
    path: 'persistence.sync',
    about:
      'When written data is synced: before the response, at intervals, or when the system does',
    fallback: 'interval',
    expects: 'always, interval or never',
    read: (text) => SYNC_MODES.find((word) => word === text),
  }),
  persistenceSyncIntervalMillis: integerSetting({
    path: 'persistence.sync-interval-millis',
    about: 'Time from a change to its sync, if persistence.sync is interval',
    unit: 'ms',
    fallback: 1000,
    minimum: 1,
    maximum: HOUR_MS,
  }),
} as const satisfies SettingRows;

export type PersistenceConfig = ValuesOf<typeof PERSISTENCE_SETTINGS>;

function timeoutSetting(name: string, about: string, fallback: number): Setting<number> {
  return integerSetting({
    path: `persistence.${name}`,
    aliases: [`hot-restart-persistence.${name}`],
    about,
    unit: 's',
    fallback,
    minimum: 1,
    maximum: TIMER_SECONDS_MAX,
  });
}
