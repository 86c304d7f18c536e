/**
 * The reasons for which input is not a request that can be served, or the rest of a request is no longer
 * awaited. Each has a number, which the parser's checks return, and a code in the table of refusals
 * (base/refusals.ts).
 */
import { type RefusalCode, refusalText, type UnreadableCode } from '../base/refusals.ts';
import type { HttpLimits } from './limits.ts';

/** The result of a check: 0 to continue, otherwise the number of a reason. */
export type Verdict = number;

const codes: (UnreadableCode | undefined)[] = [undefined];

function verdict(code: UnreadableCode): Verdict {
  return codes.push(code) - 1;
}

/** Bytes that llhttp refuses; the log has llhttp's own reason. */
export const NOT_A_REQUEST = verdict('NOT_A_REQUEST');
export const PROTOCOL_UNKNOWN = verdict('PROTOCOL_UNKNOWN');
export const VERSION_UNKNOWN = verdict('VERSION_UNKNOWN');
export const SPACES_REPEATED = verdict('SPACES_REPEATED');
export const TARGET_INVALID = verdict('TARGET_INVALID');
export const TARGET_WITH_FRAGMENT = verdict('TARGET_WITH_FRAGMENT');
export const TARGET_TOO_LONG = verdict('TARGET_TOO_LONG');
export const AUTHORITY_INVALID = verdict('AUTHORITY_INVALID');
export const HOST_MISSING = verdict('HOST_MISSING');
export const HOST_REPEATED = verdict('HOST_REPEATED');
export const HOST_INVALID = verdict('HOST_INVALID');
export const CONTENT_TYPE_REPEATED = verdict('CONTENT_TYPE_REPEATED');
export const AUTHORIZATION_REPEATED = verdict('AUTHORIZATION_REPEATED');
export const CODING_REPEATED = verdict('CODING_REPEATED');
export const CODING_UNKNOWN = verdict('CODING_UNKNOWN');
export const CODING_IN_HTTP_1_0 = verdict('CODING_IN_HTTP_1_0');
export const FIELDS_TOO_LONG = verdict('FIELDS_TOO_LONG');
export const FRAMING_TOO_LONG = verdict('FRAMING_TOO_LONG');
export const INPUT_CUT_OFF = verdict('INPUT_CUT_OFF');
export const HEAD_LATE = verdict('HEAD_LATE');
export const CONTENT_LATE = verdict('CONTENT_LATE');
export const CONTENT_LATE_AT_STOP = verdict('CONTENT_LATE_AT_STOP');
export const CONTENT_CROWDED_OUT = verdict('CONTENT_CROWDED_OUT');
export const NO_ROOM_FOR_HEAD = verdict('NO_ROOM_FOR_HEAD');

/** Bytes after the last request. They get no response, as that request has been answered. */
export const AFTER_LAST: Verdict = codes.push(undefined) - 1;

/** Returns the code of the refusal; undefined if there is none. */
export function codeOf(verdict: Verdict): RefusalCode | undefined {
  return codes[verdict];
}

/** Returns the text of the refusal, with the limits in force. */
export function reasonOf(verdict: Verdict, limits: HttpLimits): string {
  const code = codes[verdict];
  return code === undefined ? '' : refusalText(code, { ...limits });
}
