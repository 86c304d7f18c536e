/**
 * The reasons why bytes are not a request that can be served, or the rest of one is not waited for: a
 * row for each, with the status of the answer and the text for the log. The text names the rule, the
 * field and the limit, never the bytes sent.
 */
import type { HttpLimits } from './limits.ts';

/** The result of a rule: 0 to continue, otherwise the row of a refusal. */
export type Verdict = number;

interface Refusal {
  readonly status: number;
  reason(limits: HttpLimits): string;
}

const rows: Refusal[] = [{ status: 0, reason: () => '' }];

function row(status: number, reason: string | ((limits: HttpLimits) => string)): Verdict {
  return rows.push({ status, reason: typeof reason === 'string' ? () => reason : reason }) - 1;
}

export const TARGET_TOO_LONG = row(
  414,
  (limits) => `the target is longer than target-bytes-max, ${limits.targetBytesMax} bytes`,
);
export const FIELDS_TOO_LONG = row(
  431,
  (limits) => `the fields are longer than header-bytes-max, ${limits.headerBytesMax} bytes`,
);
export const FRAMING_TOO_LONG = row(
  431,
  (limits) =>
    'chunk extensions and trailers are longer than header-bytes-max, ' +
    `${limits.headerBytesMax} bytes`,
);
export const NO_HOST = row(400, 'Host: missing in HTTP/1.1');
export const SECOND_HOST = row(400, 'Host: present twice');
export const BAD_HOST = row(400, 'Host: not a host and port');
export const SECOND_CONTENT_TYPE = row(400, 'Content-Type: present twice');
export const SECOND_AUTHORIZATION = row(400, 'Authorization: present twice');
export const SECOND_CODING = row(400, 'Transfer-Encoding: present twice');
export const UNKNOWN_CODING = row(400, 'Transfer-Encoding: not chunked alone');
export const CODING_IN_1_0 = row(400, 'Transfer-Encoding: not in HTTP/1.0');
export const BAD_TARGET = row(400, 'the target is not a path, absolute URL or asterisk of OPTIONS');
export const BAD_AUTHORITY = row(400, 'the authority of the target is not a host and port');
export const FRAGMENT = row(400, 'the target has a fragment');
export const OTHER_PROTOCOL = row(400, 'the protocol is not HTTP');
export const UNKNOWN_VERSION = row(505, 'the version is neither HTTP/1.0 nor HTTP/1.1');
/** Bytes that llhttp does not take; the log has llhttp's own reason. */
export const NO_REQUEST = row(400, 'not a request');
/** Gets no answer: the last request has been answered. */
export const BEHIND_LAST = row(0, 'bytes after the last request');

export const CUT_OFF = row(400, 'the input ended within the request');
export const LATE_HEAD = row(
  408,
  (limits) =>
    `the head did not come within header-timeout-seconds, ${limits.headerTimeoutSeconds} s`,
);
export const LATE_CONTENT = row(
  408,
  (limits) =>
    'no content came within body-progress-timeout-seconds, ' +
    `${limits.bodyProgressTimeoutSeconds} s`,
);
export const LATE_AT_END = row(408, 'the member stops, and the rest did not come in time');
export const CROWDED_OUT = row(
  408,
  (limits) =>
    `ended to make room for others: in-flight-bytes-max, ${limits.inFlightBytesMax} bytes`,
);

export function statusOf(verdict: Verdict): number {
  return rows[verdict]?.status ?? 0;
}

export function reasonOf(verdict: Verdict, limits: HttpLimits): string {
  return rows[verdict]?.reason(limits) ?? '';
}
