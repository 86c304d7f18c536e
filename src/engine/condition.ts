/**
 * Conditions of changes of entries. A change is checked and made in one step.
 * Tested by embedded/embedded-engine.spec.ts.
 */
import type { Version } from './version.ts';

/**
 * The condition of a change. Each property that it has must hold; without any, the condition always
 * holds. Read during the call.
 */
export interface EntryCondition {
  /** Whether there must be an entry, or must be none. */
  readonly isPresent?: boolean;
  /** There is an entry, and it has one of these versions. */
  readonly oneOf?: readonly Version[];
  /** There is no entry, or it has none of these versions. */
  readonly noneOf?: readonly Version[];
}

/** A condition, or undefined for a change without one. */
export type Condition = EntryCondition | undefined;

/** Whether an entry with this version meets the condition; a version of none is no entry. */
export function isMet({ isPresent, oneOf, noneOf }: EntryCondition, version: Version): boolean {
  if (isPresent !== undefined && isPresent === version.isNone) return false;
  if (oneOf !== undefined && !has(oneOf, version)) return false;
  return noneOf === undefined || !has(noneOf, version);
}

function has(versions: readonly Version[], version: Version): boolean {
  for (let index = 0; index < versions.length; index++) {
    if (versions[index]!.is(version)) return true;
  }
  return false;
}
