/**
 * A name of a member's response on one line: characters that control a terminal have escapes, and bytes
 * that are not UTF-8 are in base64. Tested by map-commands.spec.ts.
 */
export function shownName(text: string | undefined, base64: string | undefined): string {
  if (text === undefined) return `base64:${base64}`;
  return text.replace(CONTROL, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

const CONTROL = /[\p{Cc}\u2028\u2029]/gu;
