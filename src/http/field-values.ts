/**
 * The syntax of the values of header fields (RFC 9110, RFC 9112). Values are compared as bytes.
 * Tested by field-values.spec.ts.
 */
import type { Span } from '../base/span.ts';

/** Maximum length of a part of a value that messages quote, in bytes. */
const SHOWN_BYTES_MAX = 200;

/** Whether the bytes equal the lower-case text `wanted`, ignoring case. ASCII letters, digits and `-`. */
export function equalsIgnoringCase(
  bytes: Buffer,
  start: number,
  end: number,
  wanted: Buffer,
): boolean {
  if (end - start !== wanted.length) return false;
  for (let index = 0; index < wanted.length; index++) {
    const byte = bytes[start + index] as number;
    const lower = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
    if (lower !== wanted[index]) return false;
  }
  return true;
}

/** Returns the end of the value without trailing white space, which the parser does not remove. */
export function trimmedEnd(bytes: Buffer, start: number, end: number): number {
  while (end > start && (bytes[end - 1] === 0x20 || bytes[end - 1] === 0x09)) end--;
  return end;
}

/** Whether the bytes are a valid Host value, `uri-host [":" port]` or empty (RFC 9110 section 7.2). */
export function isHost(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  if (bytes[at] === 0x5b && at < end) {
    at++;
    while (at < end && (HOST_CLASS[bytes[at] as number] as number) & IN_LITERAL) at++;
    if (bytes[at] !== 0x5d || at >= end || at === start + 1) return false;
    at++;
  } else {
    while (at < end && (HOST_CLASS[bytes[at] as number] as number) & IN_NAME) {
      if (bytes[at] === 0x25 && !isEscape(bytes, at, end)) return false;
      at++;
    }
  }
  if (at === end) return true;
  if (bytes[at] !== 0x3a) return false;
  for (at++; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte < 0x30 || byte > 0x39) return false;
  }
  return true;
}

/** Whether an authority of an http URI is a valid Host value with a host (RFC 9110 section 4.2). */
export function isAuthority(bytes: Buffer, start: number, end: number): boolean {
  return start < end && bytes[start] !== 0x3a && isHost(bytes, start, end);
}

/** Whether a list has at least one member, and all of its members equal `wanted`, ignoring case. */
export function isListOf(bytes: Buffer, start: number, end: number, wanted: Buffer): boolean {
  let count = 0;
  for (let from = start; from <= end; ) {
    let to = from;
    while (to < end && bytes[to] !== 0x2c) to++;
    let first = from;
    while (first < to && (bytes[first] === 0x20 || bytes[first] === 0x09)) first++;
    const last = trimmedEnd(bytes, first, to);
    if (first < last && !equalsIgnoringCase(bytes, first, last, wanted)) return false;
    if (first < last) count++;
    from = to + 1;
  }
  return count > 0;
}

/** Returns the number in a Content-Length value, which the parser has checked to be digits. */
export function decimal(bytes: Buffer, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) value = value * 10 + (bytes[at] as number) - 0x30;
  return value;
}

/** Returns the first SHOWN_BYTES_MAX bytes as text, for messages. */
export function shown({ bytes, start, end }: Span): string {
  return bytes.toString('latin1', start, Math.min(end, start + SHOWN_BYTES_MAX));
}

/** Whether the percent sign at `at` is followed by two hexadecimal digits. */
function isEscape(bytes: Buffer, at: number, end: number): boolean {
  return at + 2 < end && /^[0-9A-Fa-f]{2}$/.test(bytes.toString('latin1', at + 1, at + 3));
}

const IN_NAME = 1;
const IN_LITERAL = 2;
const HOST_CLASS = hostClasses();

function hostClasses(): Uint8Array {
  const classes = new Uint8Array(256);
  const unreserved = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~';
  for (const char of unreserved) classes[char.charCodeAt(0)] = IN_NAME | IN_LITERAL;
  for (const char of "%!$&'()*+,;=") classes[char.charCodeAt(0)] = IN_NAME;
  classes[0x3a] = IN_LITERAL;
  return classes;
}

/**
 * Whether the bytes from `start` to `end` can be the value of a header field (RFC 9110 section 5.5):
 * visible characters, spaces, tabs and bytes from 0x80 on. A CR or LF in a value would end the field
 * and begin another one.
 */
export function isFieldValue(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if ((byte < 0x20 && byte !== 0x09) || byte === 0x7f) return false;
  }
  return true;
}
