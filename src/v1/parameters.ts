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

/**
 * Reads a form that may have parameters with these names, each at most once. Values without escapes refer
 * to the bytes of the form.
 */
export function parametersIn(form: Buffer, names: readonly string[]): Parameters | ParameterFault {
  if (form.length > FORM_BYTES_MAX) return { code: 'FORM_TOO_LONG', name: '' };
  const found = new Map<string, Buffer>();
  for (let start = 0; start < form.length; ) {
    const end = endOf(form, start, form.length, AMPERSAND);
    const nameEnd = endOf(form, start, end, EQUALS);
    const nameStart = start;
    start = end + 1;
    if (end === nameStart) continue;
    const name = names.find((known) => isText(form, nameStart, nameEnd, known));
    if (name === undefined) {
      return { code: 'PARAMETER_UNKNOWN', name: shownText(form.subarray(nameStart, nameEnd)) };
    }
    if (found.has(name)) return { code: 'PARAMETER_REPEATED', name };
    const encoded = form.subarray(Math.min(nameEnd + 1, end), end);
    const value = isEncoded(encoded) ? decodeFormValue(encoded) : encoded;
    if (value === undefined) return { code: 'PARAMETER_CODED', name };
    found.set(name, value);
  }
  return found;
}

/** Returns the offset of the first such byte, or `end`. */
function endOf(form: Buffer, start: number, end: number, byte: number): number {
  let at = start;
  while (at < end && form[at] !== byte) at++;
  return at;
}

function isText(form: Buffer, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let index = 0; index < text.length; index++)
    if (form[start + index] !== text.charCodeAt(index)) return false;
  return true;
}

function isEncoded(value: Buffer): boolean {
  for (let at = 0; at < value.length; at++)
    if (value[at] === PERCENT || value[at] === PLUS) return true;
  return false;
}

/** Returns the beginning of a name or value, for a comparison or a message. */
export function shownText(bytes: Buffer | Span): string {
  const text = 'subarray' in bytes ? bytes : bytes.toBuffer();
  return text.toString('latin1', 0, SHOWN_BYTES_MAX);
}

const AMPERSAND = 0x26;
const EQUALS = 0x3d;
const PERCENT = 0x25;
const PLUS = 0x2b;
