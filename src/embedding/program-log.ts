/**
 * The part of the embedding program's logger that the member uses.
 * Tested by embedded-member.spec.ts.
 */
import { LOG_LEVELS, type LogLevel } from '../base/log-level.ts';
import type { Audit } from '../telemetry/audit.ts';
import { CountedLog } from '../telemetry/counted-log.ts';
import { createLog, type Log } from '../telemetry/log.ts';

/** Writes one line of a level: fields and a message, or only a message. */
export interface LogLine {
  (fields: object, message?: string): void;
  (message: string): void;
}

/** A pino logger, or one with its interface. */
export interface ProgramLog {
  /** Returns a logger with the same destination, whose level the member sets. */
  child(bindings: object, options?: { readonly level?: string }): MemberLog;
}

/** The log that the member writes to. */
export interface MemberLog {
  /** Lowest level that is written, or `silent`. */
  level: string;
  /** Whether lines of this level are written. */
  isLevelEnabled(level: string): boolean;
  /** Details, such as each request. */
  readonly debug: LogLine;
  /** Events of normal operation. */
  readonly info: LogLine;
  /** Events that may need attention. */
  readonly warn: LogLine;
  /** Failures. */
  readonly error: LogLine;
  /** Failures that end the member. */
  readonly fatal: LogLine;
}

/**
 * Returns a child of the program's logger, at the member's level; without a logger, nothing is
 * written. @internal
 */
export function memberLog(log: ProgramLog | undefined, level: LogLevel): Log {
  if (log === undefined) return createLog('OFF', { write() {} });
  return new CountedLog(log.child({}, { level: LOG_LEVELS[level] }) as Omit<Log, 'lineCounts'>);
}

/**
 * Returns an audit log that writes lines to the program's logger, unaffected by the member's log
 * level; without a logger, nothing is written. @internal
 */
export function memberAudit(log: ProgramLog | undefined): Audit {
  if (log === undefined) return { isSilent: true, write() {} };
  const lines = log.child({}, { level: 'info' });
  return { write: (audit) => lines.info({ audit }, 'audit') };
}
