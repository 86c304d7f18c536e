/**
 * The differences between the interface of gridnode and that of the original member
 * (`--compatibility hazelcast`). Everything else (framing, groups, credentials, names, values,
 * order) is the same in both. No code checks which dialect is active; it reads the one property
 * that it needs. So a difference is in one place: here, or in a row with a `dialect` (route.ts).
 */
import type { GridError } from '../base/errors.ts';
import { VERSION } from '../base/program-version.ts';
import type { Compatibility } from '../config/compatibility.ts';

export interface Dialect {
  /** Default first part of every path. */
  readonly pathSegment: string;
  /** Version that the member reports for itself; the cluster version is its `major.minor`. */
  readonly memberVersion: string;
  /** Status of a well-formed request with an invalid value: a state, version, level or time. */
  readonly badValueStatus: 400 | 500;
  /** Status of a change of data, or of a waiting poll, in a PASSIVE cluster. */
  readonly passiveStatus: 500 | 503;
  /**
   * Whether the response to a successful backup contains its path, its bytes and its duration in
   * seconds.
   */
  readonly reportsBackups: boolean;
  /**
   * Whether the progress of a synchronisation contains the number of entries that were not applied.
   */
  readonly reportsEntriesNotTaken: boolean;
  /** Whether the refusal of a POST without the name of a map or queue names the missing thing. */
  readonly reportsMissingNames: boolean;
  /**
   * Whether calls that need persistence are answered without it: a backup succeeds and does
   * nothing, and a start reports a failure in its content, not in its status.
   */
  readonly answersWithoutPersistence: boolean;
  /** Whether the response to a call with an old name names the current one. */
  readonly reportsOldNames: boolean;
  /**
   * Whether refusals by the cluster have statuses of their own, such as 409, instead of 200 and 500.
   */
  readonly distinguishesFailures: boolean;
  /** Status of a request that the cluster refuses. */
  statusOf(refusal: GridError): number;
  /** Formats a member's address; `address` as in MemberInfo. */
  formatAddress(address: string): string;
}

/** Codes of failures that the original reports with status 200. */
const REPORTED_WITH_200: ReadonlySet<string> = new Set([
  'STATE_UNCHANGED',
  'START_NOT_AWAITED',
  'START_NOT_ALLOWED',
  'START_FAILED',
  'BACKUP_NOT_UNDER_WAY',
  'WAN_TASK_UNKNOWN',
]);

export const DIALECTS: Readonly<Record<Compatibility, Dialect>> = {
  none: {
    pathSegment: 'grid',
    memberVersion: VERSION,
    badValueStatus: 400,
    passiveStatus: 503,
    reportsBackups: true,
    reportsEntriesNotTaken: true,
    reportsMissingNames: false,
    answersWithoutPersistence: false,
    reportsOldNames: false,
    distinguishesFailures: true,
    statusOf: ({ status }) => status,
    formatAddress: (address) => address,
  },
  hazelcast: {
    pathSegment: 'hazelcast',
    memberVersion: '5.7.0',
    badValueStatus: 500,
    passiveStatus: 500,
    reportsBackups: false,
    reportsEntriesNotTaken: false,
    reportsMissingNames: true,
    answersWithoutPersistence: true,
    reportsOldNames: true,
    distinguishesFailures: false,
    statusOf: ({ code }) => (REPORTED_WITH_200.has(code) ? 200 : 500),
    formatAddress: (address) => address.replace(/^([^[\]]+):(\d+)$/, '[$1]:$2'),
  },
};
