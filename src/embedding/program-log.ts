/** The log of the program that embeds a member, as far as the member uses it. */
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';
import type { Audit } from '../telemetry/audit.ts';
import { createLog, type Log } from '../telemetry/log.ts';

/** One line of a level: fields and a message, or a message alone. */
export interface LogLine {
  (fields: object, message?: string): void;
  (message: string): void;
}

/** A pino logger, or one with its interface. */
export interface ProgramLog {
  /** Returns a logger that writes to the same place, and whose level the member sets. */
  child(bindings: object, options?: { readonly level?: string }): MemberLog;
}

/** The log that the member writes to. */
export interface MemberLog {
  /** The lowest level that is written, or `silent`. */
  level: string;
  isLevelEnabled(level: string): boolean;
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
  readonly fatal: LogLine;
}

/**
 * Returns a child of the program's log, at the member's level; without a log, nothing is written.
 * @internal
 */
export function memberLog(log: ProgramLog | undefined, level: LogLevel): Log {
  if (log === undefined) return createLog('OFF', { write() {} });
  return log.child({}, { level: LOG_LEVELS[level] }) as Log;
}

/**
 * Writes the audit log as lines of the program's log, which the member's log levels do not affect.
 * @internal
 */
export function memberAudit(log: ProgramLog | undefined): Audit {
  if (log === undefined) return { write() {} };
  const lines = log.child({}, { level: 'info' });
  return { write: (audit) => lines.info({ audit }, 'audit') };
}
