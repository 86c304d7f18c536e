/** The log of the program that a member is embedded in, as far as the member uses it. */
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';
import type { Audit } from '../telemetry/audit.ts';
import { createLog, type Log } from '../telemetry/log.ts';

/** One line of a level: fields and a message, or a message alone. */
export interface LogLine {
  (fields: object, message?: string): void;
  (message: string): void;
}

/** Of a pino logger, or of one with its interface. */
export interface ProgramLog {
  /** A logger that writes to the same place, whose level the member sets by itself. */
  child(bindings: object, options?: { readonly level?: string }): MemberLog;
}

/** What the member writes to. */
export interface MemberLog {
  /** The least level that is written, or `silent`. */
  level: string;
  isLevelEnabled(level: string): boolean;
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
  readonly fatal: LogLine;
}

/**
 * A child of the program's log, at the member's level; without one, nothing is written.
 * @internal
 */
export function memberLog(log: ProgramLog | undefined, level: LogLevel): Log {
  if (log === undefined) return createLog('OFF', { write() {} });
  return log.child({}, { level: LOG_LEVELS[level] }) as Log;
}

/**
 * The audit log as lines of the program's log, which log levels of the member do not touch.
 * @internal
 */
export function memberAudit(log: ProgramLog | undefined): Audit {
  if (log === undefined) return { record() {} };
  const lines = log.child({}, { level: 'info' });
  return { record: (audit) => lines.info({ audit }, 'audit') };
}
