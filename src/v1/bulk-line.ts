/**
 * The operation of a line of a bulk request. A line has only members that its operation uses.
 * Tested by bulk-actions.spec.ts.
 */
import { NO_SPAN, Span } from '../base/span.ts';
import type { EntryCondition } from '../engine/condition.ts';
import { decimalIn } from '../engine/decimal.ts';
import type { Lifetime } from '../engine/engine.ts';
import { conditionOf } from '../engine/entity-tag.ts';
import { isFieldValue } from '../http/field-values.ts';

import { LineMembers } from './line-members.ts';
import { ONE, SECONDS_MAX } from './v1-calls.ts';

interface SetOperation {
  readonly op: 'set';
  readonly key: Span;
  readonly value: Span;
  /** Empty for none. */
  readonly contentType: Span;
  readonly lifetime: Lifetime;
  readonly condition: EntryCondition;
}

interface DeleteOperation {
  readonly op: 'delete';
  readonly key: Span;
  readonly condition: EntryCondition;
}

interface AddOperation {
  readonly op: 'add';
  readonly key: Span;
  /** That of a new entry. */
  readonly lifetime: Lifetime;
  readonly by: bigint;
}

export type BulkOperation = SetOperation | DeleteOperation | AddOperation;
export type BulkOp = BulkOperation['op'];

const KEY = ['op', 'key', 'keyBase64'];
const CONDITION = ['ifMatch', 'ifNoneMatch'];
const VALUE = ['value', 'valueBase64', 'contentType', 'contentTypeBase64'];
const LIFETIME = ['timeToLiveSeconds', 'maxIdleSeconds'];
/** The members of the line of each operation. */
const MEMBERS: Readonly<Record<BulkOp, readonly string[]>> = {
  set: [...KEY, ...VALUE, ...LIFETIME, ...CONDITION],
  delete: [...KEY, ...CONDITION],
  add: [...KEY, 'by'],
};
const KNOWN = new Set(Object.values(MEMBERS).flat());

/** The values of a line without them, and limits. */
interface LineSettings {
  readonly lifetime: Lifetime;
  readonly contentTypeBytesMax: number;
}

/** Returns the operation of a line, whose spans may refer to it, or a message with its fault. */
export function operationIn(line: Span, settings: LineSettings): BulkOperation | string {
  const members = new LineMembers(line, KNOWN);
  const operation = members.fault === '' ? operationOf(members, settings) : undefined;
  return operation ?? members.fault;
}

function operationOf(members: LineMembers, settings: LineSettings): BulkOperation | undefined {
  const op = opOf(members);
  if (op === undefined) return undefined;
  const useless = members.names.find((name) => !MEMBERS[op].includes(name));
  if (useless !== undefined) return members.refuse(useless, `"${op}" has no use for it`);
  const key = members.key();
  if (key === undefined) return undefined;
  if (op === 'add') {
    const by = addendOf(members);
    return by === undefined ? undefined : { op, key, lifetime: settings.lifetime, by };
  }
  const condition = conditionIn(members);
  if (condition === undefined) return undefined;
  if (op === 'delete') return { op, key, condition };
  const value = members.bytes('value');
  if (value === undefined) return undefined;
  const contentType = contentTypeOf(members, settings.contentTypeBytesMax);
  if (contentType === undefined) return undefined;
  const lifetime = lifetimeOf(members, settings.lifetime);
  return lifetime && { op, key, value, contentType, lifetime, condition };
}

function opOf(members: LineMembers): BulkOp | undefined {
  const text = members.text('op');
  if (text === undefined) return undefined;
  const op = members.written('op');
  return Object.hasOwn(MEMBERS, op)
    ? (op as BulkOp)
    : members.refuseValue('op', '"set", "delete" or "add"');
}

function contentTypeOf(members: LineMembers, bytesMax: number): Span | undefined {
  const name = members.has('contentTypeBase64') ? 'contentTypeBase64' : 'contentType';
  if (!members.has(name)) return NO_SPAN;
  const type = members.bytes('contentType');
  if (type === undefined) return undefined;
  if (type.length > bytesMax)
    return members.refuse(name, `it has ${type.length} bytes, the limit is ${bytesMax}`);
  if (isFieldValue(type.bytes, type.start, type.end)) return type;
  return members.refuseValue(name, 'the value of a header field');
}

function lifetimeOf(members: LineMembers, settings: Lifetime): Lifetime | undefined {
  const timeToLive = secondsOf(members, 'timeToLiveSeconds', settings.timeToLiveMs / 1000);
  const maxIdleSeconds = secondsOf(members, 'maxIdleSeconds', settings.maxIdleSeconds);
  if (timeToLive === undefined || maxIdleSeconds === undefined) return undefined;
  return { timeToLiveMs: timeToLive * 1000, maxIdleSeconds };
}

function secondsOf(members: LineMembers, name: string, setting: number): number | undefined {
  if (!members.has(name)) return setting;
  const written = members.isText(name) ? '' : members.written(name);
  const seconds = /^\d{1,10}$/.test(written) ? Number(written) : Number.NaN;
  return seconds <= SECONDS_MAX
    ? seconds
    : members.refuseValue(name, `an integer from 0 to ${SECONDS_MAX}`);
}

/** A text of digits is also a number, as not all languages have integers of 64 bits. */
function addendOf(members: LineMembers): bigint | undefined {
  if (!members.has('by')) return ONE;
  return decimalIn(Span.of(members.written('by'))) ?? members.refuseValue('by', 'a 64-bit integer');
}

function conditionIn(members: LineMembers): EntryCondition | undefined {
  const match = tagsOf(members, 'ifMatch');
  const noneMatch = tagsOf(members, 'ifNoneMatch');
  if (members.fault !== '') return undefined;
  const condition = conditionOf(match, noneMatch);
  if (typeof condition !== 'string') return condition;
  const name = condition === 'match' ? 'ifMatch' : 'ifNoneMatch';
  return members.refuseValue(name, '* or 1 to 16 entity tags in quotes');
}

/** Returns the text of a condition, if there is one. */
function tagsOf(members: LineMembers, name: string): string | undefined {
  const text = members.has(name) ? members.text(name) : undefined;
  return text?.bytes.toString('latin1', text.start, text.end);
}
