/**
 * The member's log: one JSON object a line on standard output, or coloured lines for people where that
 * is a terminal. Every line is written before the call returns, so that no line is lost at exit. No
 * line for a request has a level above FINE, so logging costs nothing under load.
 */
import { destination, pino, stdTimeFunctions } from 'pino';
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';

const STANDARD_OUTPUT = 1;
/** Limit of the bytes that are kept until they can be written; lines beyond it are lost. */
const UNWRITTEN_BYTES_MAX = 65_536;

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

/** The stream of a log's lines, each with its line end. */
interface LogStream {
  write(line: string): unknown;
}

/**
 * Opens the log to standard output. The package that formats lines for people is loaded only for a
 * terminal. Where lines cannot be written, `onError` is called once and the member continues.
 */
export async function openLog(
  level: LogLevel,
  hasColours = true,
  onError: (error: Error) => void = () => {},
): Promise<Log> {
  const stream = destination({ fd: STANDARD_OUTPUT, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  let isTold = false;
  stream.on('error', (error: Error) => {
    if (!isTold) onError(error);
    isTold = true;
  });
  if (!process.stdout.isTTY) return createLog(level, stream);
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({ colorize: hasColours });
  return createLog(level, { write: (line) => stream.write(format(line)) });
}

/** Makes a log that writes to any stream. */
export function createLog(level: LogLevel, stream: LogStream): Log {
  const options = {
    level: LOG_LEVELS[level],
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, stream);
}
