/**
 * The audit log. It has a line for each attempt to administer the member, to log in or to do something
 * that the user may not do: the user, the address, the action and the result, never a password or a
 * value. It is a stream of its own beside the log, and log levels do not affect it.
 */
import { type DestinationStream, destination, pino, stdTimeFunctions } from 'pino';

const STANDARD_OUTPUT = 1;

interface AuditEntry {
  /** The name as given, right or wrong; undefined where none was given. */
  readonly user: string | undefined;
  /** The peer's address. */
  readonly address: string;
  /** Method and path. */
  readonly action: string;
  /** HTTP status of the answer. */
  readonly status: number;
}

export interface Audit {
  write(entry: AuditEntry): void;
}

/** Writes each entry as a line of JSON before the call returns. */
export function openAudit(
  stream: DestinationStream = destination({ fd: STANDARD_OUTPUT, sync: true }),
): Audit {
  const options = {
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: () => ({ level: 'audit' }) },
  };
  const log = pino(options, stream);
  return {
    write({ user, address, action, status }) {
      const result = status < 400 ? 'done' : (RESULTS.get(status) ?? 'failed');
      log.info({ result, user, address, action, status });
    },
  };
}

/** A user's name for the log; only the beginning of a name that may have megabytes. */
export function auditedUser(name: Buffer): string {
  return name.toString('utf8', 0, USER_BYTES_MAX);
}

const USER_BYTES_MAX = 128;

/** Only these concern the user; any other failure is one of the work. */
const RESULTS = new Map([
  [401, 'unauthenticated'],
  [403, 'refused'],
  [429, 'throttled'],
]);
