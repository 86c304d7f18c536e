/**
 * The member's log: one JSON object a line on standard output, or coloured lines for people where
 * that is a terminal. Every line is written before the call returns, so that nothing is lost at
 * exit; there is no line a request above level FINE, so that costs nothing under load.
 */
import { destination, pino, stdTimeFunctions } from 'pino';
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';

const STANDARD_OUTPUT = 1;
/** What could not be written and is kept until it can be, in bytes; lines beyond it are lost. */
const UNWRITTEN_BYTES_MAX = 65_536;

/** Writes a line: the text alone, or fields and a text. */
export type WriteLine = (textOrFields: string | object, text?: string) => void;

/** What a member logs to; a logger of pino's is one. */
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

/** Where the lines of a log go, each with its line end. */
export interface LogStream {
  write(line: string): unknown;
}

/**
 * The log to standard output. What prints for people is loaded only where they look. Where lines can't
 * be written, `onError` is called once and the member goes on.
 */
export async function openLog(
  level: LogLevel,
  hasColours = true,
  onError: (error: Error) => void = () => {},
): Promise<Log> {
  if (process.stdout.isTTY) {
    const { default: pretty } = await import('pino-pretty');
    const options = { destination: STANDARD_OUTPUT, sync: true, colorize: hasColours };
    return createLog(level, pretty(options));
  }
  const stream = destination({ fd: STANDARD_OUTPUT, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  let isTold = false;
  stream.on('error', (error: Error) => {
    if (!isTold) onError(error);
    isTold = true;
  });
  return createLog(level, stream);
}

/** A log into any stream. */
export function createLog(level: LogLevel, stream: LogStream): Log {
  const options = {
    level: LOG_LEVELS[level],
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, stream);
}
