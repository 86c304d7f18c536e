/**
 * The conditions of requests: If-Match, If-None-Match and If-Range (RFC 9110 section 13.1).
 * Tested by v1-actions.spec.ts.
 */
import type { EntryCondition } from '../engine/condition.ts';
import { ANY, conditionOf, INVALID_MATCH, tagOf, tagsIn } from '../engine/entity-tag.ts';
import type { Version } from '../engine/version.ts';
import { type HeaderField, IF_MATCH, IF_NONE_MATCH, IF_RANGE } from '../http/header-fields.ts';
import type { RequestHead } from '../http/request-head.ts';

/** The fields that are conditions. */
const CONDITIONAL = IF_MATCH.bit | IF_NONE_MATCH.bit;

/** A field whose value is not what it should be. */
interface FieldFault {
  readonly field: string;
  readonly value: string;
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
  return found === INVALID_MATCH
    ? { field: IF_MATCH.name.toString(), value: match! }
    : { field: IF_NONE_MATCH.name.toString(), value: noneMatch! };
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
