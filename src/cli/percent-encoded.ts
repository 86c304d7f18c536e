/** Encodes texts and bytes for a part of a path or a form. Tested by client-commands.spec.ts. */

/** Characters that are never encoded (RFC 3986 2.3). */
const UNRESERVED = /^[A-Za-z0-9\-_.~]$/;

/** Encodes a text as UTF-8 first. */
export function percentEncoded(part: Buffer | string): string {
  if (typeof part === 'string') return encodeURIComponent(part);
  return Array.from(part, (byte) => {
    const character = String.fromCharCode(byte);
    if (UNRESERVED.test(character)) return character;
    return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}
