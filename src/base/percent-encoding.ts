/** Percent-encoding of a part of a path or a form (RFC 3986 section 2.1). */

/**
 * Encodes a text as UTF-8, or bytes of any kind: like encodeURIComponent, which accepts only text.
 */
export function percentEncoded(part: Buffer | string): string {
  if (typeof part === 'string') return encodeURIComponent(part);
  return part.toString('latin1').replace(ENCODED, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase();
    return `%${code.padStart(2, '0')}`;
  });
}

/** The characters that encodeURIComponent encodes. */
const ENCODED = /[^A-Za-z0-9\-_.!~*'()]/g;
