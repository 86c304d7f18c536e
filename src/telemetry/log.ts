/**
 * The member's log: one JSON object a line on standard output, or coloured lines for people where that
 * is a terminal. No line for a request has a level above FINE, so logging costs nothing under load.
 */
import { pino, stdTimeFunctions } from 'pino';
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';
import { keepEscapes, type LineStream, lineOptions } from './line-stream.ts';

/** Writes a line: a text alone, or fields and a text. */
type WriteLine = (textOrFields: string | object, text?: string) => void;

/** The log of a member; a logger of pino has this interface. */
export interface Log {
  /** The lowest level that is written, by pino's name for it, or `silent`. */
  level: string;
  isLevelEnabled(level: string): boolean;
  readonly trace: WriteLine;
  readonly debug: WriteLine;
  readonly info: WriteLine;
  readonly warn: WriteLine;
  readonly error: WriteLine;
  readonly fatal: WriteLine;
}

/** Makes a log that writes to any stream. */
export function createLog(level: LogLevel, stream: LineStream): Log {
  const options = {
    level: LOG_LEVELS[level],
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    ...lineOptions(stream),
  };
  return pino(options, stream);
}

/**
 * A stream of lines for people, written to that of `lines`. The package that formats them is loaded only
 * here.
 */
export async function forPeople(lines: LineStream, hasColours: boolean): Promise<LineStream> {
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({ colorize: hasColours });
  return {
    write: (line) => lines.write(format(keepEscapes(line))),
    flushSync: () => lines.flushSync?.(),
    nextFields: () => lines.nextFields?.() ?? {},
  };
}
