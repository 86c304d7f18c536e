/**
 * The audit log. It has a line for every attempt to administer the member, to log in or to do
 * something without permission: the user, the address, the action and the result, never a password
 * or a value. It is a separate stream, not affected by log levels. Tested by log.spec.ts.
 */
import { pino, stdTimeFunctions } from 'pino';
import type { Clock } from '../base/clock.ts';
import { RepeatedEvents } from '../base/repeated-events.ts';
import { type LineStream, lineOptions } from './line-stream.ts';
import type { LineCounts } from './log.ts';

/** Interval in which the throttled logins of a key share a line, in ms. */
const THROTTLED_MS = 10_000;
/** Maximum number of keys whose throttled logins are counted. */
const THROTTLED_KEYS_MAX = 10_000;

interface AuditEntry {
  /** The user's name as sent, right or wrong; undefined if none was sent. */
  readonly user: string | undefined;
  /** The peer's address. */
  readonly address: string;
  /** Method and path. */
  readonly action: string;
  /** HTTP status of the response. */
  readonly status: number;
  /** Number of throttled logins that the line reports; its other fields describe the latest one. */
  readonly count?: number;
}

export interface Audit {
  /** Whether entries are written nowhere. */
  readonly isSilent?: true;
  write(entry: AuditEntry): void;
}

/** Writes each entry as a line of JSON. */
export function openAudit(stream: LineStream): Audit {
  const options = {
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: () => ({ level: 'audit' }) },
    ...lineOptions(stream),
  };
  const log = pino(options, stream);
  return {
    write({ user, address, action, status, count }) {
      const result = status < 400 ? 'done' : (RESULTS.get(status) ?? 'failed');
      log.info({ result, user, address, action, status, ...(count && { count }) });
    },
  };
}

/**
 * An audit log in which throttled logins have one line per key every ten seconds, with their count,
 * so that a client that keeps guessing does not fill the log. It counts its lines.
 */
export class CountingAudit implements Audit {
  readonly #audit: Audit;
  readonly #lineCounts: Pick<LineCounts, 'audit'>;
  readonly #throttled: RepeatedEvents<AuditEntry>;

  constructor(audit: Audit, clock: Clock, lineCounts: Pick<LineCounts, 'audit'>) {
    this.#audit = audit;
    this.#lineCounts = lineCounts;
    this.#throttled = new RepeatedEvents({
      clock,
      intervalMs: THROTTLED_MS,
      keysMax: THROTTLED_KEYS_MAX,
      report: (entry, count) => this.#write({ ...entry, count }),
    });
  }

  /** `throttledKey`: the key that has to wait (failure-throttle.ts); undefined if the status is not 429. */
  write(entry: AuditEntry, throttledKey?: string): void {
    if (throttledKey === undefined) this.#write(entry);
    else this.#throttled.add(throttledKey, entry);
  }

  /** Writes the lines of the throttled logins that are not reported yet. */
  end(): void {
    this.#throttled.end();
  }

  #write(entry: AuditEntry): void {
    if (this.#audit.isSilent !== true) this.#lineCounts.audit++;
    this.#audit.write(entry);
  }
}

/** Returns a user's name for the log; a long name, which may have megabytes, is truncated. */
export function auditedUser(name: Buffer): string {
  return name.toString('utf8', 0, USER_BYTES_MAX);
}

const USER_BYTES_MAX = 128;

/**
 * Results by status. Only these statuses concern the user; any other failure is one of the work.
 */
const RESULTS = new Map([
  [401, 'unauthenticated'],
  [403, 'refused'],
  [429, 'throttled'],
]);
