/**
 * The member's log: one JSON object a line on standard output, or coloured lines for people where
 * that is a terminal. Every line is written before the call returns, so that nothing is lost at
 * exit; there is no line a request above level FINE, so that costs nothing under load.
 */
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';

const STANDARD_OUTPUT = 1;

export type Log = Logger;

/** The log to standard output. What prints for people is loaded only where they look. */
export async function openLog(level: LogLevel): Promise<Log> {
  if (!process.stdout.isTTY) {
    return createLog(level, destination({ fd: STANDARD_OUTPUT, sync: true }));
  }
  const { default: pretty } = await import('pino-pretty');
  return createLog(level, pretty({ destination: STANDARD_OUTPUT, sync: true, colorize: true }));
}

/** A log into any stream. */
export function createLog(level: LogLevel, stream: DestinationStream): Log {
  const options = {
    level: LOG_LEVELS[level],
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, stream);
}
