/**
 * The reasons for which input is not a request that can be served, or the rest of a request is no longer
 * awaited. Each has a number, which the parser's checks return, and a code in the table of refusals
 * (base/refusals.ts). Tested by parser.spec.ts.
 */
import { type RefusalCode, refusalText, type UnreadableCode } from '../base/refusals.ts';
import type { HttpLimits } from './limits.ts';

/** The result of a check: 0 to continue, otherwise the number of a reason. */
export type ReadFailure = number;

const codes: (UnreadableCode | undefined)[] = [undefined];

function failure(code: UnreadableCode): ReadFailure {
  return codes.push(code) - 1;
}

/** Bytes that llhttp refuses; the log contains the reason that llhttp returns. */
export const NOT_A_REQUEST = failure('NOT_A_REQUEST');
export const PROTOCOL_UNKNOWN = failure('PROTOCOL_UNKNOWN');
export const VERSION_UNKNOWN = failure('VERSION_UNKNOWN');
export const SPACES_REPEATED = failure('SPACES_REPEATED');
export const TARGET_INVALID = failure('TARGET_INVALID');
export const TARGET_WITH_FRAGMENT = failure('TARGET_WITH_FRAGMENT');
export const TARGET_TOO_LONG = failure('TARGET_TOO_LONG');
export const AUTHORITY_INVALID = failure('AUTHORITY_INVALID');
export const HOST_MISSING = failure('HOST_MISSING');
export const HOST_REPEATED = failure('HOST_REPEATED');
export const HOST_INVALID = failure('HOST_INVALID');
export const CONTENT_TYPE_REPEATED = failure('CONTENT_TYPE_REPEATED');
export const AUTHORIZATION_REPEATED = failure('AUTHORIZATION_REPEATED');
export const RANGE_REPEATED = failure('RANGE_REPEATED');
export const IF_RANGE_REPEATED = failure('IF_RANGE_REPEATED');
export const TIME_TO_LIVE_REPEATED = failure('TIME_TO_LIVE_REPEATED');
export const MAX_IDLE_REPEATED = failure('MAX_IDLE_REPEATED');
export const CODING_REPEATED = failure('CODING_REPEATED');
export const CODING_UNKNOWN = failure('CODING_UNKNOWN');
export const CODING_IN_HTTP_1_0 = failure('CODING_IN_HTTP_1_0');
export const FIELDS_TOO_LONG = failure('FIELDS_TOO_LONG');
export const FRAMING_TOO_LONG = failure('FRAMING_TOO_LONG');
export const INPUT_CUT_OFF = failure('INPUT_CUT_OFF');
export const HEAD_LATE = failure('HEAD_LATE');
export const CONTENT_LATE = failure('CONTENT_LATE');
export const CONTENT_LATE_AT_STOP = failure('CONTENT_LATE_AT_STOP');
export const CONTENT_CROWDED_OUT = failure('CONTENT_CROWDED_OUT');
export const NO_ROOM_FOR_HEAD = failure('NO_ROOM_FOR_HEAD');

/** Bytes after the last request. They get no response, as that request has been answered. */
export const AFTER_LAST: ReadFailure = codes.push(undefined) - 1;

/** Returns the code of the refusal; undefined if there is none. */
export function codeOf(failure: ReadFailure): RefusalCode | undefined {
  return codes[failure];
}

/** Returns the text of the refusal, with the limits in force. */
export function reasonOf(failure: ReadFailure, limits: HttpLimits): string {
  const code = codes[failure];
  return code === undefined ? '' : refusalText(code, { ...limits });
}
