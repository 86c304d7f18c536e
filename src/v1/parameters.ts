/**
 * Parameters of `v1`: in the query of a GET, in the body of a POST, both encoded as a form. They are
 * decoded to bytes. The first one that is unknown, repeated or invalid is reported.
 * Tested by v1-actions.spec.ts.
 */
import { Span } from '../base/span.ts';
import type { RequestHead } from '../http/request-head.ts';
import { decodeFormValue } from '../surface/percent-decoding.ts';

/** Maximum length of the names and values that messages show, in bytes. */
const SHOWN_BYTES_MAX = 100;
/** Maximum length of a form, in bytes: far more than all parameters need. */
const FORM_BYTES_MAX = 65_536;

/** Why the parameters cannot be used, as a code of the table of refusals. */
interface ParameterFault {
  readonly code: 'PARAMETER_UNKNOWN' | 'PARAMETER_REPEATED' | 'PARAMETER_CODED' | 'FORM_TOO_LONG';
  readonly name: string;
}

/** Returns the query without its question mark; empty if there is none. */
export function queryOf({ target, pathEnd }: RequestHead): Span {
  return new Span().set(target.bytes, Math.min(pathEnd + 1, target.end), target.end);
}

/** Parameters with these names, each at most once. One object reads any number of forms in turn. */
export class Parameters {
  readonly names: readonly string[];
  readonly #values: readonly Span[];
  /** The parameters that the form has, as bits by the index of their names. */
  #found = 0;

  constructor(names: readonly string[]) {
    this.names = names;
    this.#values = names.map(() => new Span());
  }

  /** Returns the value of a name, until the next form is read; undefined if the form has none. */
  get(name: string): Span | undefined {
    const index = this.names.indexOf(name);
    return (this.#found & (1 << index)) === 0 ? undefined : this.#values[index];
  }

  /** Reads a form. Values without escapes refer to its bytes. */
  read({ bytes, start, end }: Span): ParameterFault | undefined {
    this.#found = 0;
    if (end - start > FORM_BYTES_MAX) return { code: 'FORM_TOO_LONG', name: '' };
    for (let from = start; from < end; ) {
      const to = endOf(bytes, from, end, AMPERSAND);
      const fault = from < to ? this.#add(bytes, from, to) : undefined;
      if (fault !== undefined) return fault;
      from = to + 1;
    }
    return undefined;
  }

  #add(bytes: Buffer, start: number, end: number): ParameterFault | undefined {
    const nameEnd = endOf(bytes, start, end, EQUALS);
    const index = this.#indexOf(bytes, start, nameEnd);
    const name = this.names[index];
    if (name === undefined)
      return { code: 'PARAMETER_UNKNOWN', name: shownText(bytes.subarray(start, nameEnd)) };
    const bit = 1 << index;
    if ((this.#found & bit) !== 0) return { code: 'PARAMETER_REPEATED', name };
    const value = this.#values[index]!.set(bytes, Math.min(nameEnd + 1, end), end);
    if (isEncoded(value)) {
      const decoded = decodeFormValue(bytes.subarray(value.start, end));
      if (decoded === undefined) return { code: 'PARAMETER_CODED', name };
      value.set(decoded, 0, decoded.length);
    }
    this.#found |= bit;
    return undefined;
  }

  /** Returns the index of the name; -1 for an unknown one. */
  #indexOf(bytes: Buffer, start: number, end: number): number {
    const { names } = this;
    for (let index = 0; index < names.length; index++) {
      if (isText(bytes, start, end, names[index]!)) return index;
    }
    return -1;
  }
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

function isEncoded({ bytes, start, end }: Span): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === PERCENT || bytes[at] === PLUS) return true;
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
