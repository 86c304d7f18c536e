/**
 * Parameters of `v1`: in the query of a GET, in the body of a POST, both encoded as a form. They are
 * decoded to bytes. The first one that is unknown, repeated or invalid is reported.
 * Tested by v1-actions.spec.ts.
 */

import type { Span } from '../base/span.ts';
import type { RequestHead } from '../http/request-head.ts';
import { decodeFormValue } from '../surface/percent-decoding.ts';

/** Maximum length of the names and values that messages show, in bytes. */
const SHOWN_BYTES_MAX = 100;
/** Maximum length of a form, in bytes: far more than all parameters need. */
const FORM_BYTES_MAX = 65_536;

export type Parameters = ReadonlyMap<string, Buffer>;

/** Why the parameters cannot be used, as a code of the table of refusals. */
interface ParameterFault {
  readonly code: 'PARAMETER_UNKNOWN' | 'PARAMETER_REPEATED' | 'PARAMETER_CODED' | 'FORM_TOO_LONG';
  readonly name: string;
}

/** Returns the query without its question mark; empty if there is none. */
export function queryOf({ target, pathEnd }: RequestHead): Buffer {
  return target.bytes.subarray(Math.min(pathEnd + 1, target.end), target.end);
}

/** Reads a form that may have parameters with these names, each at most once. */
export function parametersIn(form: Buffer, names: readonly string[]): Parameters | ParameterFault {
  if (form.length > FORM_BYTES_MAX) return { code: 'FORM_TOO_LONG', name: '' };
  const found = new Map<string, Buffer>();
  for (let start = 0; start < form.length; ) {
    const next = form.indexOf(AMPERSAND, start);
    const end = next < 0 ? form.length : next;
    const pair = form.subarray(start, end);
    start = end + 1;
    if (pair.length === 0) continue;
    const equals = pair.indexOf(EQUALS);
    const nameEnd = equals < 0 ? pair.length : equals;
    const name = shownText(pair.subarray(0, nameEnd));
    const value = decodeFormValue(pair.subarray(Math.min(nameEnd + 1, pair.length)));
    if (!names.includes(name)) return { code: 'PARAMETER_UNKNOWN', name };
    if (found.has(name)) return { code: 'PARAMETER_REPEATED', name };
    if (value === undefined) return { code: 'PARAMETER_CODED', name };
    found.set(name, value);
  }
  return found;
}

/** Returns the beginning of a name or value, for a comparison or a message. */
export function shownText(bytes: Buffer | Span): string {
  const text = 'subarray' in bytes ? bytes : bytes.toBuffer();
  return text.toString('latin1', 0, SHOWN_BYTES_MAX);
}

const AMPERSAND = 0x26;
const EQUALS = 0x3d;
