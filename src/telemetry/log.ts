/**
 * The member's log: one JSON object per line on standard output, or coloured lines for people if
 * that is a terminal. No line about a request has a level above FINE, so logging costs nothing
 * under load.
 */
import { pino, stdTimeFunctions } from 'pino';
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';
import { CountedLog } from './counted-log.ts';
import { doubleEscapes, type LineStream, lineOptions } from './line-stream.ts';

/** Writes a line: a text, or fields and a text. */
export type WriteLine = (textOrFields: string | object, text?: string) => void;

/** Numbers of lines that the log and the audit log have written. */
export interface LineCounts {
  warn: number;
  error: number;
  fatal: number;
  audit: number;
}

/** The log of a member; pino's loggers have this interface, except the counts. */
export interface Log {
  readonly lineCounts: LineCounts;
  /** The lowest level that is written, by pino's name for it, or `silent`. */
  level: string;
  isLevelEnabled(level: string): boolean;
  readonly debug: WriteLine;
  readonly info: WriteLine;
  readonly warn: WriteLine;
  readonly error: WriteLine;
  readonly fatal: WriteLine;
}

/** Creates a log that writes to the stream. */
export function createLog(level: LogLevel, stream: LineStream): Log {
  const options = {
    level: LOG_LEVELS[level],
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    ...lineOptions(stream),
  };
  return new CountedLog(pino(options, stream));
}

/**
 * Returns a stream that formats lines for people and writes them to `lines`. Only this function
 * loads the package that formats them.
 */
export async function prettyStream(lines: LineStream, hasColours: boolean): Promise<LineStream> {
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({ colorize: hasColours });
  return {
    write: (line) => lines.write(format(doubleEscapes(line))),
    flushSync: () => lines.flushSync?.(),
    nextFields: () => lines.nextFields?.() ?? {},
  };
}
