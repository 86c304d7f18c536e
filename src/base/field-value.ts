/**
 * Checks whether bytes can be the value of an HTTP header field (RFC 9110 section 5.5): visible
 * characters, spaces, tabs and bytes from 0x80 on. A CR or LF in a value would end the field and
 * begin another one. Tested by http/content-types.spec.ts.
 */

/** Whether the bytes from `start` to `end` can be the value of a header field. */
export function isFieldValue(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if ((byte < 0x20 && byte !== 0x09) || byte === 0x7f) return false;
  }
  return true;
}
