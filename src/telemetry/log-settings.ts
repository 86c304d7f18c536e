/** Settings of the log. Tested by member/config.spec.ts. */
import { LOG_LEVELS, type LogLevel, parseLogLevel } from '../base/log-level.ts';
import { reloadable, wordSetting } from '../config/setting.ts';
import type { SettingRows } from '../config/setting-table.ts';

export const LOG_SETTINGS = {
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
} as const satisfies SettingRows;
