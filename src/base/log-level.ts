/**
 * Log levels. Their outer names are those of the interface (OFF to FINEST); the names of the log
 * library are accepted as well. Several outer levels share an inner one, so the outer name is
 * stored.
 */

/** Each level and the log library's name for it, from silent to most verbose. */
export const LOG_LEVELS = {
  OFF: 'silent',
  SEVERE: 'error',
  WARNING: 'warn',
  INFO: 'info',
  CONFIG: 'info',
  FINE: 'debug',
  FINER: 'trace',
  FINEST: 'trace',
} as const;

export type LogLevel = keyof typeof LOG_LEVELS;

/** Returns the level with that outer or inner name, in any case; undefined for an unknown name. */
export function parseLogLevel(text: string): LogLevel | undefined {
  const upper = text.toUpperCase();
  if (Object.hasOwn(LOG_LEVELS, upper)) return upper as LogLevel;
  const lower = text.toLowerCase();
  if (lower === 'trace') return 'FINEST';
  return LOG_LEVEL_NAMES.find((name) => LOG_LEVELS[name] === lower);
}

/** Names of the levels, from silent to most verbose. */
export const LOG_LEVEL_NAMES = Object.keys(LOG_LEVELS) as readonly LogLevel[];
