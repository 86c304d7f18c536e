/**
 * Entity tags of entries, and conditions in texts with tags (RFC 9110 sections 8.8.3 and 13.1). The
 * tag of an entry is its version, as 16 hexadecimal digits in quotes.
 * Tested by v1/v1-actions.spec.ts.
 */
import type { EntryCondition } from './condition.ts';
import { Version } from './version.ts';

/** Maximum number of tags in a text. */
const TAGS_MAX = 16;
/** A tag, after separators; an empty element of a list is ignored (section 5.6.1). */
const TAG = /[\t ,]*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[\t ]*(?=,|$)/y;
const OWN_TAG = /^[0-9a-f]{16}$/;
const ONLY_SEPARATORS = /^[\t ,]*$/;
const WORD_DIGITS = 8;
const HEX_DIGITS = Buffer.from('0123456789abcdef');
/** The tag being written: two quotes with the digits between them. */
const TAG_BYTES = Buffer.alloc(2 * WORD_DIGITS + 2, '"');

export const ANY = '*';

/** Any entry, or versions. */
type Tags = typeof ANY | readonly Version[];

/** Which of the two texts of a condition is invalid. */
export const INVALID_MATCH = 'match';
const INVALID_NONE_MATCH = 'noneMatch';
type Invalid = typeof INVALID_MATCH | typeof INVALID_NONE_MATCH;

/** Returns the tag of an entry, with its quotes; a third of the time of Number's toString. */
export function tagOf({ high, low }: Version): string {
  writeDigits(high, WORD_DIGITS);
  writeDigits(low, 2 * WORD_DIGITS);
  return TAG_BYTES.toString('latin1');
}

/** Writes the digits of a word; the last one is at this index. */
function writeDigits(word: number, lastIndex: number): void {
  let left = word;
  for (let index = lastIndex; index > lastIndex - WORD_DIGITS; index--) {
    TAG_BYTES[index] = HEX_DIGITS[left & 15]!;
    left >>>= 4;
  }
}

/**
 * Returns the tags in the text of If-Match or If-None-Match; undefined if it is neither `*` nor 1 to
 * 16 tags. A tag of another form is of no entry. With `isWeak`, weak tags are equal to strong ones,
 * otherwise they are of no entry.
 */
export function tagsIn(text: string, isWeak: boolean): Tags | undefined {
  if (text.trim() === ANY) return ANY;
  const tags: Version[] = [];
  let count = 0;
  TAG.lastIndex = 0;
  let end = 0;
  for (let found = TAG.exec(text); found !== null; found = TAG.exec(text)) {
    const [, weak, tag = ''] = found;
    if (++count > TAGS_MAX) return undefined;
    end = TAG.lastIndex;
    if (OWN_TAG.test(tag) && (isWeak || weak === undefined)) tags.push(versionOf(tag));
  }
  const isList = count > 0 && ONLY_SEPARATORS.test(text.slice(end));
  return isList ? tags : undefined;
}

function versionOf(tag: string): Version {
  const word = (from: number): number => Number.parseInt(tag.slice(from, from + WORD_DIGITS), 16);
  return new Version().set(word(WORD_DIGITS), word(0));
}

/** Returns the condition of the texts of If-Match and If-None-Match, each if there is one. */
export function conditionOf(
  match: string | undefined,
  noneMatch: string | undefined,
): EntryCondition | Invalid {
  const first = match === undefined ? undefined : tagsIn(match, false);
  if (match !== undefined && first === undefined) return INVALID_MATCH;
  const second = noneMatch === undefined ? undefined : tagsIn(noneMatch, true);
  if (noneMatch !== undefined && second === undefined) return INVALID_NONE_MATCH;
  // "Any entry" and "no entry" cannot both hold.
  if (first === ANY && second === ANY) return { oneOf: [] };
  return {
    ...(first === ANY ? { isPresent: true } : first === undefined ? {} : { oneOf: first }),
    ...(second === ANY ? { isPresent: false } : second === undefined ? {} : { noneOf: second }),
  };
}
