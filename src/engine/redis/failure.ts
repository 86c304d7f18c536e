/**
 * Reasons why an operation has no result, each with the outcome and the reason that the engine
 * returns. Tested by engine/failure-code.spec.ts.
 */
import {
  DATA_LAYOUT,
  DISCONNECTED,
  FOREIGN_DATA,
  MEMORY_FULL,
  NO_LEASE,
  NOT_PERMITTED,
  type Outcome,
  OVERLOADED,
  type Reason,
  SERVERS,
  SERVERS_REFUSE,
  TOO_FEW_REPLICAS,
  UNKNOWN,
  UNREACHABLE,
} from '../engine.ts';

/** The operation was certainly not done: its server is unreachable or cannot execute it now. */
export const AWAY = 1;
/** The server has no memory for the change, which was not made. */
export const FULL = 2;
/** The server has fewer replicas than the change needs; the change was not made. */
export const SHORT = 3;
/** The server accepts no changes for now; this one was not made. */
export const REFUSED = 4;
/** The user lacks the right; the operation was not done. */
export const FORBIDDEN = 5;
/** The member has lost its lease; the change was not made. */
export const CUT_OFF = 6;
/** A key has a value of another type; the operation was not done. */
export const FOREIGN = 7;
/** Too many operations wait for the servers; this one was not sent. */
export const CROWDED_OUT = 8;
/** The data has another layout than this member; the operation was not sent. */
export const OTHER_LAYOUT = 9;
/** The operation has no reply and may have been done. */
export const UNANSWERED = 10;
/** The operation was done, but too few replicas have confirmed it. */
export const UNCONFIRMED = 11;

export type Failure = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11;

const MEANINGS: Readonly<Record<Failure, readonly [Outcome, Reason]>> = {
  [AWAY]: [UNREACHABLE, DISCONNECTED],
  [FULL]: [MEMORY_FULL, SERVERS],
  [SHORT]: [UNREACHABLE, TOO_FEW_REPLICAS],
  [REFUSED]: [UNREACHABLE, SERVERS_REFUSE],
  [FORBIDDEN]: [UNREACHABLE, NOT_PERMITTED],
  [CUT_OFF]: [UNREACHABLE, NO_LEASE],
  [FOREIGN]: [UNREACHABLE, FOREIGN_DATA],
  [CROWDED_OUT]: [UNREACHABLE, OVERLOADED],
  [OTHER_LAYOUT]: [UNREACHABLE, DATA_LAYOUT],
  [UNANSWERED]: [UNKNOWN, SERVERS],
  [UNCONFIRMED]: [UNKNOWN, TOO_FEW_REPLICAS],
};

export function outcomeOf(failure: Failure): Outcome {
  return MEANINGS[failure][0];
}

export function reasonOf(failure: Failure): Reason {
  return MEANINGS[failure][1];
}

/** Whether the operation may have been done. */
export function isUnknown(failure: Failure): boolean {
  return failure >= UNANSWERED;
}
