/**
 * Operating errors: one table from a stable code to the message and the HTTP status, and the error
 * class. The meaning of a code never changes; tests and log readers rely on it. Outcomes of normal
 * operation (a missing key, an empty queue) are values, not errors. An invalid option is a
 * TypeError or RangeError. A programmer's mistake is an assertion.
 */

import { SETTINGS_IN_MESSAGES } from './settings-in-messages.ts';

/**
 * The errors that a request can end with; they are also rows of the table of refusals
 * (refusals.ts). Message patterns, here and below: the action, the value, the reason; no final
 * period. A name in braces is the placeholder of a value. @internal
 */
export const REQUEST_ERRORS = {
  MEMORY_FULL: {
    status: 503,
    message: `Cannot write to {name}: the memory for data, ${SETTINGS_IN_MESSAGES.maxMemory}, is used up`,
  },
  DISK_FULL: { status: 503, message: 'Cannot write to {name}: the disk is full' },
  DISK_FAILED: {
    status: 503,
    message: 'Cannot write to {name}: the disk has failed, the member must be restarted',
  },
  DISK_ERROR: {
    status: 503,
    message: 'Cannot write to {name}: freeing disk space failed; see the log',
  },
  REPLICATION_FULL: {
    status: 503,
    message: 'Cannot write to {name}: the replication queue is full',
  },
  OUTCOME_UNKNOWN: {
    status: 503,
    message: 'Cannot tell which data is stored: the disk has failed, the member must be restarted',
  },
  CLUSTER_PASSIVE: {
    status: 503,
    message: 'Cannot {action}: the cluster is PASSIVE and accepts no changes',
  },
  MEMBER_CUT_OFF: {
    status: 503,
    message:
      'Cannot {action}: this member has lost contact with its cluster and accepts no changes; ' +
      'nothing was done',
  },
  ENGINE_CLOSED: { status: 503, message: 'Cannot serve {name}: the engine is closed' },
  ENGINE_DISCONNECTED: {
    status: 503,
    message:
      'Cannot serve {name}: the servers are unreachable or cannot serve it now; nothing was done',
  },
  SERVERS_FULL: {
    status: 503,
    message: 'Cannot write to {name}: the memory of the servers is used up; nothing was done',
  },
  SERVERS_SHORT: {
    status: 503,
    message: 'Cannot write to {name}: its server has too few replicas; nothing was done',
  },
  SERVERS_REFUSE: {
    status: 503,
    message: 'Cannot write to {name}: its server accepts no changes now; nothing was done',
  },
  SERVERS_FORBID: {
    status: 503,
    message:
      "Cannot serve {name}: this member's user lacks a permission on the servers; the log names " +
      'the denied command; nothing was done',
  },
  SERVERS_FOREIGN: {
    status: 503,
    message:
      'Cannot serve {name}: its key on the servers is used by another program; nothing was done',
  },
  SERVERS_OVERLOADED: {
    status: 503,
    message: 'Cannot serve {name}: too many requests are waiting for the servers; nothing was done',
  },
  SERVERS_CUT_OFF: {
    status: 503,
    message:
      'Cannot write to {name}: this member has lost contact with its cluster on the servers; nothing was done',
  },
  SERVERS_LAYOUT: {
    status: 503,
    message:
      'Cannot serve {name}: the data on the servers has a different layout than this member expects; nothing was done',
  },
  SERVERS_UNKNOWN: {
    status: 503,
    message:
      'Cannot confirm the operation on {name}: the servers have not replied; it may have been done',
  },
  SERVERS_UNCONFIRMED: {
    status: 503,
    message:
      'Cannot confirm the change of {name}: too few replicas of its server have confirmed it; it may have been done',
  },
  VALUE_NO_NUMBER: {
    status: 409,
    message: 'Cannot {action}: the value or the sum is not a 64-bit integer',
  },
  HOLD_LOST: {
    status: 503,
    message: 'Cannot acknowledge {name}: the hold had ended, nothing was done',
  },
  STATE_UNCHANGED: {
    status: 409,
    message: 'Cannot change to {state}: the cluster is already in that state',
  },
  STATE_CHANGING: { status: 409, message: 'Cannot change to {state}: another change is under way' },
  STATE_NOT_REACHED: { status: 503, message: 'Cannot change to {state}: {reason}' },
  STOP_NOT_RECORDED: { status: 503, message: 'Cannot stop the cluster: {reason}' },
  LICENSE_NOT_KEPT: { status: 503, message: 'Cannot set the license: {reason}' },
  CONFIG_NOT_KEPT: {
    status: 503,
    message: 'Cannot store the change of the configuration: {reason}',
  },
  CONFIG_UNCONFIRMED: {
    status: 503,
    message:
      'The change of the configuration is stored, but not every member acts on it yet: not {members}',
  },
  WAN_PUBLISHERS_MAX: {
    status: 409,
    message:
      'Cannot add to WAN replication {replication}: more than {max} publishers in the member',
  },
  WAN_CONFIGURED: {
    status: 409,
    message:
      'Cannot remove publisher {publisherId} of WAN replication {replication}: it is in the configuration; ' +
      'only publishers added later can be removed',
  },
  WAN_CLEAR_NOT_KEPT: {
    status: 503,
    message: 'Cannot clear the WAN queue, its changes remain queued: {reason}',
  },
  MEMBER_LIST_NOT_KEPT: { status: 503, message: 'Cannot change the member list: {reason}' },
  VERSION_NOT_SUPPORTED: {
    status: 409,
    message:
      'Cannot change to version {version}: this member of version {memberVersion} does not support it',
  },
  START_NOT_AWAITED: { status: 409, message: 'Cannot {start}: the member is not waiting for it' },
  START_NOT_ALLOWED: {
    status: 409,
    message: `Cannot {start}: ${SETTINGS_IN_MESSAGES.recoveryPolicy} is {policy}`,
  },
  START_FAILED: { status: 503, message: 'Cannot {start}: {reason}' },
  PERSISTENCE_OFF: {
    status: 409,
    message: 'Cannot {action}: persistence is off; {setting} or --data-dir turns it on',
  },
  DATA_ELSEWHERE: {
    status: 409,
    message: 'Cannot {action}: the data is stored on servers ({setting}), not by this member',
  },
  BACKUP_NOWHERE: {
    status: 409,
    message: `Cannot back up: ${SETTINGS_IN_MESSAGES.backupDirectory} is not set`,
  },
  BACKUP_UNDER_WAY: { status: 409, message: 'Cannot back up: a backup is under way' },
  BACKUP_NOT_UNDER_WAY: {
    status: 409,
    message: 'Cannot interrupt a backup: no backup is under way',
  },
  BACKUP_INTERRUPTED: { status: 409, message: 'Cannot back up: interrupted' },
  BACKUP_FAILED: { status: 503, message: 'Cannot back up: {reason}' },
  WAN_UNKNOWN: {
    status: 400,
    message:
      "WAN Replication Config doesn't exist with WAN configuration name {replication} " +
      'and publisher ID {publisherId}',
  },
  WAN_AMBIGUOUS: {
    status: 400,
    message:
      'Cannot choose a publisher of WAN replication {replication}: name one of {publisherIds}',
  },
  WAN_MAP_UNKNOWN: {
    status: 400,
    message:
      'Cannot {action} map "{map}": it has no wan-replication-ref to WAN replication {replication}',
  },
  WAN_CHECK_OFF: { status: 409, message: 'Cannot check map "{map}": {setting}' },
  WAN_TASK_UNDER_WAY: { status: 409, message: 'Cannot {action}: {other} {uuid} is under way' },
  WAN_TASK_NOT_KEPT: { status: 503, message: 'Cannot {action}: {reason}' },
  WAN_TASK_UNKNOWN: {
    status: 404,
    message: "WAN synchronisation or check {uuid} couldn't be found",
  },
  WAN_MESSAGE_INVALID: { status: 400, message: 'Cannot accept the WAN message: {reason}' },
  WAN_MESSAGE_TOO_LONG: {
    status: 413,
    message:
      'Cannot accept the WAN message: its payload has {bytes} bytes, the limit is {bytesMax}',
  },
  WAN_CLOCK_AHEAD: {
    status: 400,
    message:
      "Cannot accept the WAN message: a time in it is {seconds} s ahead of this member's clock; " +
      'set the clocks of both members',
  },
  WAN_OTHER_CLUSTER: {
    status: 403,
    message:
      'Cannot accept the WAN message: it is for cluster "{expected}", and this member\'s cluster has another name',
  },
  WAN_TREES_BUSY: {
    status: 503,
    message: 'Cannot compare a map now: {waitingMax} requests for hash trees are waiting',
  },
  WAN_TREES_UNREAD: { status: 503, message: 'Cannot compare a map now: {reason}' },
  CP_GROUPS_MAX: { status: 503, message: 'Cannot create a CP group: there are {max}' },
  CP_SESSION_UNKNOWN: {
    status: 404,
    message: 'Cannot use CP session {id}: it does not exist, or has ended',
  },
  CP_LOCK_HELD: { status: 409, message: 'Cannot take lock {lock}: another session holds it' },
  CP_MEMBER_ALIVE: { status: 409, message: 'Cannot remove CP member {uuid}: it is alive' },
  CP_NOT_MASTER: {
    status: 409,
    message: 'Cannot reset the CP subsystem: this is not the oldest member of the cluster',
  },
  WAN_OLDER_EPOCH: {
    status: 409,
    message: 'Cannot accept the WAN message: its sender has restarted since',
  },
  WAN_READS_UNCOUNTED: {
    status: 409,
    message:
      'Cannot accept the WAN message: merge policy {policy} compares reads, which are not counted with {setting}',
  },
  WAN_DATA_SET_UNKNOWN: {
    status: 503,
    message:
      "Cannot accept the WAN message: the id of this cluster's data cannot be stored: {reason}",
  },
  WAN_NUMBERS_PASSED: {
    status: 409,
    message:
      'Cannot accept the WAN message: lane {lane} begins with event {number}, after a batch that began with event {passed}',
  },
} as const;

/**
 * The errors of a member by code: the HTTP status of the response when one ends a request, and the
 * message, with the names of its values in braces.
 */
export const ERRORS = {
  ...REQUEST_ERRORS,
  VALUE_UNREADABLE: { status: 500, message: 'Cannot read {value} as {form}: {reason}' },
  PARSER_UNUSABLE: { status: 500, message: 'Cannot use the parser llhttp: {what}' },
  ADDRESS_IN_USE: { status: 500, message: 'Cannot listen on {address}: already in use' },
  ADDRESS_NOT_HERE: {
    status: 500,
    message: 'Cannot listen on {address}: not an address of this host',
  },
  ADDRESS_FORBIDDEN: { status: 500, message: 'Cannot listen on {address}: not permitted' },
  ADDRESS_UNUSABLE: { status: 500, message: 'Cannot listen on {address}: {reason}' },
  TLS_FILE_UNUSABLE: { status: 500, message: 'Cannot use "{file}" for TLS: {reason}' },
  CLUSTER_VERSION: {
    status: 500,
    message:
      'Cannot join the cluster: it has version {version}, this member has {memberVersion}; ' +
      'stop its members first, or start a member of their version',
  },
  CONFIG_NOT_APPLIED: {
    status: 500,
    message:
      'Cannot start: WAN replications or references that the members have added cannot be used here; ' +
      'see the log for the reason',
  },
  WAN_CONFIG_DIFFERS: {
    status: 500,
    message:
      'Cannot join the cluster: {place} is {value} in this member and {other} in the others; ' +
      'use the same file, or stop all members before you start them with another one',
  },
  ENGINE_UNUSABLE: { status: 500, message: '{reason}' },
  STOPPED_RECOVERING: { status: 503, message: 'Stopped while recovering' },
  DATA_DIRECTORY_LOCKED: {
    status: 500,
    message: 'Cannot use data directory "{directory}": another process uses it',
  },
  DATA_DIRECTORY_UNUSABLE: {
    status: 500,
    message: 'Cannot use data directory "{directory}": {reason}',
  },
  DATA_DAMAGED: { status: 500, message: 'Cannot recover: "{file}" {what} at byte {offset}' },
  DATA_NOT_WHOLE: {
    status: 500,
    message:
      'Cannot use data directory "{directory}": the command that fills it did not finish; run it again',
  },
  DATA_DIRECTORY_NOT_EMPTY: {
    status: 500,
    message: 'Cannot fill data directory "{directory}": it contains "{file}"',
  },
  DATA_TIMEOUT: {
    status: 500,
    message: 'Cannot recover: reading "{directory}" takes longer than {setting}, {seconds} s',
  },
  BACKUP_NOT_WHOLE: { status: 500, message: 'Cannot restore: "{file}" {reason}' },
  DATA_FORMAT_OLDER: {
    status: 500,
    message:
      'Cannot read "{file}": it has format {format}, this version reads only format {known} and ' +
      'converts no other; start the version that wrote it and copy the data over HTTP to a member of ' +
      'this version, or start with an empty data directory',
  },
  DATA_FORMAT_NEWER: {
    status: 500,
    message:
      'Cannot read "{file}": it has format {format}, this version reads only format {known}; ' +
      'use the version that wrote it, or a backup of format {known}',
  },
  DATA_RECORD_NEWER: {
    status: 500,
    message:
      'Cannot read "{file}": the record at byte {offset} has {what}, which this version does not ' +
      'support; use the version that wrote it, or a later one',
  },
  DATA_NEEDS_MEMORY: {
    status: 500,
    message: `Cannot recover: the data in "{directory}" needs more memory than ${SETTINGS_IN_MESSAGES.maxMemory}, {bytes} bytes; ${SETTINGS_IN_MESSAGES.maxMemory} {sufficient} is sufficient`,
  },
  PARTITION_COUNT_CHANGED: {
    status: 500,
    message: `Cannot start with ${SETTINGS_IN_MESSAGES.partitionCount} {configured}: the data in "{directory}" has {stored}`,
  },
} as const;

/** Code of an error, a key of ERRORS. */
export type ErrorCode = keyof typeof ERRORS;

/** The values for the placeholders of a code's message. */
type ErrorValues<Code extends ErrorCode> = ValuesOf<(typeof ERRORS)[Code]['message']>;

/** The operation was done, but its last step failed, so a crash may undo it. @internal */
export class OutcomeUnknown extends Error {
  readonly code: string | undefined;

  constructor(cause: Error) {
    super(cause.message, { cause });
    this.code = (cause as NodeJS.ErrnoException).code;
  }
}

/** An operation failed, or a member cannot start. */
export class GridError<Code extends ErrorCode = ErrorCode> extends Error {
  /** Always `GridError`. */
  override readonly name = 'GridError';
  /** Stable code of the error. */
  readonly code: Code;
  /** HTTP status of the response when this error ends a request. */
  readonly status: number;

  /** @internal */
  constructor(code: Code, values: ErrorValues<Code>, options?: ErrorOptions) {
    super(fill(ERRORS[code].message, values), options);
    this.code = code;
    this.status = ERRORS[code].status;
  }

  /** Whether the operation may have taken effect although it failed. */
  get isOutcomeUnknown(): boolean {
    return this.cause instanceof OutcomeUnknown;
  }
}

/** Returns the message of a thrown value. @internal */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The values for the placeholders of a message. @internal */
export type ValuesOf<Message extends string> = {
  readonly [Name in Placeholders<Message>]: string | number;
};

/** @internal */
type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

/**
 * Returns the message with the values in place of the placeholders; values are inserted unchanged.
 * @internal
 */
export function fill(pattern: string, values: Readonly<Record<string, string | number>>): string {
  return pattern.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
}
