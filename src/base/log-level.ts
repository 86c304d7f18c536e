/**
 * Log levels. Their outer names are those of the interface (OFF to FINEST); the inner names of the log
 * library are accepted, too. Several outer levels share an inner one, so the outer name is stored.
 */

/** Each level and the log library's name for it, from no lines to all lines. */
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

/** The level of that name, outer or inner, in any case; undefined when there is none. */
export function parseLogLevel(text: string): LogLevel | undefined {
  const upper = text.toUpperCase();
  if (Object.hasOwn(LOG_LEVELS, upper)) return upper as LogLevel;
  const lower = text.toLowerCase();
  if (lower === 'trace') return 'FINEST';
  return LOG_LEVEL_NAMES.find((name) => LOG_LEVELS[name] === lower);
}

/** From no lines to all lines. */
export const LOG_LEVEL_NAMES = Object.keys(LOG_LEVELS) as readonly LogLevel[];
