/**
 * The names in the paths of `v1/cp`: of a group, and of a lock or a session.
 * Tested by cp-actions.spec.ts.
 */
import type { Span } from '../base/span.ts';
import type { Call } from '../surface/action.ts';
import { shownText } from '../v1/parameters.ts';
import { refuse } from '../v1/v1-calls.ts';
import { METADATA } from './cp-groups.ts';
import { NAME_BYTES_MAX } from './lock-entries.ts';

/** Whether the names can be those of a group and of a lock; otherwise refuses the request. */
export function areNames(call: Call): boolean {
  const { name, key } = call;
  if (name.is(METADATA_NAME)) refuse(call, 'CP_GROUP_METADATA', {});
  else if (name.length > NAME_BYTES_MAX) refuseName(call, 'group', name.length);
  else if (key.length > NAME_BYTES_MAX) refuseName(call, 'lock', key.length);
  else return true;
  return false;
}

export function refuseName(call: Call, thing: string, bytes: number): void {
  refuse(call, 'CP_NAME_TOO_LONG', { thing, bytes, bytesMax: NAME_BYTES_MAX });
}

/** Returns the beginning of a name as JSON, for a message. */
export function shownName(name: Span): string {
  return JSON.stringify(shownText(name));
}

const METADATA_NAME = Buffer.from(METADATA);
