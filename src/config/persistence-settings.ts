/** The settings of what is kept on the disk: rows of the table in settings.ts. */
import { booleanSetting, integerSetting, textSetting, wordSetting } from './setting.ts';

const SYNC_MODES = ['always', 'interval', 'never'] as const;
const HOUR_MS = 3_600_000;

export const PERSISTENCE_SETTINGS = {
  persistenceEnabled: booleanSetting({
    path: 'persistence.enabled',
    aliases: ['hot-restart-persistence.enabled'],
    about: 'Whether data is kept on the disk; --data-dir does this, too',
    fallback: false,
  }),
  dataDirectory: textSetting({
    path: 'persistence.base-dir',
    aliases: ['hot-restart-persistence.base-dir'],
    flag: { name: '--data-dir', argument: 'DIR', implies: { persistenceEnabled: 'true' } },
    about: 'Directory in which data is kept; made where it is not there',
    fallback: 'persistence',
    expects: 'a path',
    allows: (text) => text !== '' && !text.includes('\0'),
  }),
  persistenceSync: wordSetting<(typeof SYNC_MODES)[number]>({
    path: 'persistence.sync',
    about:
      'When what was written is synced: before its answer, at intervals, or when the system does',
    fallback: 'interval',
    expects: 'always, interval or never',
    read: (text) => SYNC_MODES.find((word) => word === text),
  }),
  persistenceSyncIntervalMillis: integerSetting({
    path: 'persistence.sync-interval-millis',
    about: 'How long after a change the sync comes, with persistence.sync interval',
    unit: 'ms',
    fallback: 1000,
    minimum: 1,
    maximum: HOUR_MS,
  }),
} as const;
