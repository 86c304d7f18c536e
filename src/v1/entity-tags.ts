/**
 * Entity tags of entries, and the conditions of requests (RFC 9110 sections 8.8.3 and 13.1). The tag
 * of an entry is its version, as 16 hexadecimal digits in quotes. Tested by v1-actions.spec.ts.
 */
import type { EntryCondition } from '../engine/condition.ts';
import { Version } from '../engine/version.ts';
import { type HeaderField, IF_MATCH, IF_NONE_MATCH, IF_RANGE } from '../http/header-fields.ts';
import type { RequestHead } from '../http/request-head.ts';

/** Maximum number of tags in a field. */
const TAGS_MAX = 16;
/** The fields that are conditions. */
const CONDITIONAL = IF_MATCH.bit | IF_NONE_MATCH.bit;
/** A tag, after separators; an empty element of a list is ignored (section 5.6.1). */
const TAG = /[\t ,]*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[\t ]*(?=,|$)/y;
const OWN_TAG = /^[0-9a-f]{16}$/;
const ONLY_SEPARATORS = /^[\t ,]*$/;
const DIGITS = 8;

/** A field whose value is not what it should be. */
interface FieldFault {
  readonly field: string;
  readonly value: string;
}

/** Returns the tag of an entry, with its quotes. */
export function tagOf({ high, low }: Version): string {
  return `"${digits(high)}${digits(low)}"`;
}

function digits(word: number): string {
  return (word >>> 0).toString(16).padStart(DIGITS, '0');
}

export function isConditional({ fieldBits }: RequestHead): boolean {
  return (fieldBits & CONDITIONAL) !== 0;
}

/** Returns the condition of If-Match and If-None-Match together. */
export function conditionIn(head: RequestHead): EntryCondition | FieldFault {
  const match = head.has(IF_MATCH) ? head.fieldText(IF_MATCH) : undefined;
  const noneMatch = head.has(IF_NONE_MATCH) ? head.fieldText(IF_NONE_MATCH) : undefined;
  const found = conditionOf(match, noneMatch);
  if (typeof found !== 'string') return found;
  return found === 'match'
    ? { field: IF_MATCH.name.toString(), value: match! }
    : { field: IF_NONE_MATCH.name.toString(), value: noneMatch! };
}

/**
 * Returns the condition of the texts of If-Match and If-None-Match, each if there is one; or which of
 * them is invalid.
 */
export function conditionOf(
  match: string | undefined,
  noneMatch: string | undefined,
): EntryCondition | 'match' | 'noneMatch' {
  const first = match === undefined ? undefined : tagsIn(match, false);
  if (match !== undefined && first === undefined) return 'match';
  const second = noneMatch === undefined ? undefined : tagsIn(noneMatch, true);
  if (noneMatch !== undefined && second === undefined) return 'noneMatch';
  // "Any entry" and "no entry" cannot both hold.
  if (first === ANY && second === ANY) return { oneOf: [] };
  return {
    ...(first === ANY ? { isPresent: true } : first === undefined ? {} : { oneOf: first }),
    ...(second === ANY ? { isPresent: false } : second === undefined ? {} : { noneOf: second }),
  };
}

/** Whether the entry's version meets If-Match, and whether it meets If-None-Match. */
interface Preconditions {
  readonly meetsMatch: boolean;
  readonly meetsNoneMatch: boolean;
}

/** Returns how an entry with this version meets the fields, which are valid. */
export function preconditionsIn(head: RequestHead, version: Version): Preconditions {
  const has = (field: HeaderField, isWeak: boolean): boolean => {
    const tags = tagsIn(head.fieldText(field), isWeak);
    return tags === ANY ? !version.isNone : (tags ?? []).some((each) => each.is(version));
  };
  return {
    meetsMatch: !head.has(IF_MATCH) || has(IF_MATCH, false),
    meetsNoneMatch: !head.has(IF_NONE_MATCH) || !has(IF_NONE_MATCH, true),
  };
}

/** Whether If-Range is absent, or is the tag of this version; a date never is. */
export function meetsIfRange(head: RequestHead, version: Version): boolean {
  return !head.has(IF_RANGE) || head.fieldText(IF_RANGE) === tagOf(version);
}

const ANY = '*';

/**
 * Returns the versions in the text of a field; tags of other forms are of no entry. With `isWeak`,
 * weak tags are equal to strong ones, otherwise they are of no entry. Undefined if it is invalid.
 */
function tagsIn(text: string, isWeak: boolean): typeof ANY | readonly Version[] | undefined {
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
  return count > 0 && ONLY_SEPARATORS.test(text.slice(end)) ? tags : undefined;
}

function versionOf(tag: string): Version {
  const word = (from: number): number => Number.parseInt(tag.slice(from, from + DIGITS), 16);
  return new Version().set(word(DIGITS), word(0));
}
