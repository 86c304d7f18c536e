/**
 * The header fields that affect how a request is parsed or answered, and the syntax of their values
 * (RFC 9110, RFC 9112). Names are compared as bytes. All other fields are ignored.
 */

export const OTHER_FIELD = 0;
export const HOST = 1;
export const CONTENT_TYPE = 2;
export const CONTENT_LENGTH = 3;
export const TRANSFER_ENCODING = 4;
export const CONTENT_ENCODING = 5;
export const EXPECT = 6;
export const AUTHORIZATION = 7;
/** Proxy-Connection has no meaning, but the parser treats it as Connection. */
export const PROXY_CONNECTION = 8;
// Fields that browsers send (browser-fields.ts).
export const ORIGIN = 9;
export const SEC_FETCH_SITE = 10;
export const SEC_FETCH_MODE = 11;
export const UPGRADE_INSECURE_REQUESTS = 12;
export const ACCESS_CONTROL_REQUEST_HEADERS = 13;

/** Returns the number of the field with this name; case is ignored. */
export function fieldOf(bytes: Buffer, start: number, end: number): number {
  switch (end - start) {
    case 4:
      return equalsIgnoringCase(bytes, start, end, NAME_HOST) ? HOST : OTHER_FIELD;
    case 6:
      if (equalsIgnoringCase(bytes, start, end, NAME_EXPECT)) return EXPECT;
      return equalsIgnoringCase(bytes, start, end, NAME_ORIGIN) ? ORIGIN : OTHER_FIELD;
    case 12:
      return equalsIgnoringCase(bytes, start, end, NAME_TYPE) ? CONTENT_TYPE : OTHER_FIELD;
    case 13:
      return equalsIgnoringCase(bytes, start, end, NAME_LOGIN) ? AUTHORIZATION : OTHER_FIELD;
    case 14:
      if (equalsIgnoringCase(bytes, start, end, NAME_LENGTH)) return CONTENT_LENGTH;
      if (equalsIgnoringCase(bytes, start, end, NAME_SITE)) return SEC_FETCH_SITE;
      return equalsIgnoringCase(bytes, start, end, NAME_MODE) ? SEC_FETCH_MODE : OTHER_FIELD;
    case 16:
      if (equalsIgnoringCase(bytes, start, end, NAME_ENCODING)) return CONTENT_ENCODING;
      return equalsIgnoringCase(bytes, start, end, NAME_PROXY) ? PROXY_CONNECTION : OTHER_FIELD;
    case 17:
      return equalsIgnoringCase(bytes, start, end, NAME_TRANSFER) ? TRANSFER_ENCODING : OTHER_FIELD;
    case 25:
      return equalsIgnoringCase(bytes, start, end, NAME_UPGRADE)
        ? UPGRADE_INSECURE_REQUESTS
        : OTHER_FIELD;
    case 30:
      return equalsIgnoringCase(bytes, start, end, NAME_REQUESTED)
        ? ACCESS_CONTROL_REQUEST_HEADERS
        : OTHER_FIELD;
    default:
      return OTHER_FIELD;
  }
}

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

const NAME_HOST = Buffer.from('host');
const NAME_EXPECT = Buffer.from('expect');
const NAME_TYPE = Buffer.from('content-type');
const NAME_LOGIN = Buffer.from('authorization');
const NAME_LENGTH = Buffer.from('content-length');
const NAME_ENCODING = Buffer.from('content-encoding');
const NAME_PROXY = Buffer.from('proxy-connection');
const NAME_TRANSFER = Buffer.from('transfer-encoding');
const NAME_ORIGIN = Buffer.from('origin');
const NAME_SITE = Buffer.from('sec-fetch-site');
const NAME_MODE = Buffer.from('sec-fetch-mode');
const NAME_UPGRADE = Buffer.from('upgrade-insecure-requests');
const NAME_REQUESTED = Buffer.from('access-control-request-headers');

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
