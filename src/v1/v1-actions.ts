/**
 * The actions of `v1` on maps: conditional requests, lifetimes and ranges of entries, counters,
 * sizes.
 */
import type { Clock } from '../base/clock.ts';
import { REFUSALS, refusalText } from '../base/refusals.ts';
import { Span } from '../base/span.ts';
import type { MapLifetimes } from '../data/map-lifetimes.ts';
import type { EntryCondition } from '../engine/condition.ts';
import { decimalIn } from '../engine/decimal.ts';
import {
  ABSENT,
  APPLIED,
  CONDITION_FAILED,
  COUNTED,
  type Engine,
  FOUND,
  type Lifetime,
  NO_NUMBER,
  type OperationResult,
  VALUE_COPY_BYTES_MAX,
} from '../engine/engine.ts';
import { tagOf } from '../engine/entity-tag.ts';
import { FairScheduler } from '../http/fair-scheduler.ts';
import {
  CONTENT_TYPE,
  GRID_MAX_IDLE,
  GRID_TIME_TO_LIVE,
  type HeaderField,
  RANGE,
} from '../http/header-fields.ts';
import { GET } from '../http/methods.ts';
import { JSON_TYPE, type Request } from '../http/request.ts';
import type { RequestHead } from '../http/request-head.ts';
import type { Response } from '../http/response.ts';
import type { Actions, Call } from '../surface/action.ts';
import { OPENED_VALUE } from '../surface/cross-origin-policy.ts';
import { TEXT_PLAIN } from '../surface/responses.ts';
import { bulkActions } from './bulk-actions.ts';
import { type ByteRange, rangeIn, UNSATISFIABLE } from './byte-range.ts';
import { conditionIn, isConditional, meetsIfRange, preconditionsIn } from './entity-tags.ts';
import { mapLine, secondsLeft } from './json-lines.ts';
import { listActions } from './list-actions.ts';
import { lookupActions } from './lookup-actions.ts';
import { Parameters, shownText } from './parameters.ts';
import {
  fail,
  NO_STORE,
  ONE,
  own,
  readForm,
  refuse,
  respondText,
  SECONDS_MAX,
} from './v1-calls.ts';
import { BY, type V1_ROUTES } from './v1-routes.ts';

interface V1Parts {
  readonly engine: Engine;
  /** Lifetimes of the maps' entries. */
  readonly lifetimes: MapLifetimes;
  readonly clock: Clock;
}

const ENTRY_LINES = 'Cache-Control: no-cache\r\n';
/** A condition that always holds: the result says whether there was an entry. */
const ALWAYS: EntryCondition = {};

export function v1Actions(parts: V1Parts): Actions<typeof V1_ROUTES> {
  const { engine, lifetimes } = parts;
  const scheduler = new FairScheduler(parts.clock);
  return {
    ...listActions({ ...parts, scheduler }),
    ...bulkActions({ ...parts, scheduler }),
    ...lookupActions({ ...parts, scheduler }),
    describeMap: own((call) => engine.size(call.name, call), respondDescription),
    mapSize: own((call) => engine.size(call.name, call), respondSize),
    clearV1Map: own((call) => {
      // With a slash at the end, an entry was meant.
      if (endsWithSlash(call.request.head)) refuse(call, 'NAME_EMPTY', {});
      else engine.clear(call.name, call);
    }, respondDone),
    getV1Entry: own((call) => {
      if (hasKey(call) && conditionOf(call) !== undefined) engine.get(call.name, call.key, call);
    }, respondEntry),
    putV1Entry: own((call) => {
      const condition = hasKey(call) ? conditionOf(call) : undefined;
      const lifetime = condition && lifetimeOf(call, lifetimes.of(call.name));
      if (lifetime === undefined) return;
      const { name, key, request } = call;
      const type = request.head.field(CONTENT_TYPE);
      engine.set(name, key, request.content, type, lifetime, condition, call);
    }, respondPut),
    deleteV1Entry: own((call) => {
      const condition = hasKey(call) ? conditionOf(call) : undefined;
      if (condition !== undefined) engine.delete(call.name, call.key, condition, call);
    }, respondDone),
    addToEntry: own((call) => {
      const by = hasKey(call) ? addendOf(call) : undefined;
      if (by !== undefined) engine.add(call.name, call.key, by, lifetimes.of(call.name), call);
    }, respondSum),
  };
}

function endsWithSlash({ target, pathEnd }: RequestHead): boolean {
  return target.bytes[pathEnd - 1] === SLASH;
}

/** Whether the key is not empty; otherwise refuses the request. */
function hasKey(call: Call): boolean {
  if (call.keyStart < call.keyEnd) return true;
  refuse(call, 'NAME_EMPTY', {});
  return false;
}

/** Returns the condition of the request; undefined if the request has been refused. */
function conditionOf(call: Call): EntryCondition | undefined {
  const { head } = call.request;
  if (!isConditional(head)) return ALWAYS;
  const found = conditionIn(head);
  if (!('field' in found)) return found;
  const { field, value } = found;
  refuse(call, 'ENTITY_TAGS_INVALID', { field, seen: JSON.stringify(shown(value)) });
  return undefined;
}

function shown(text: string): string {
  return shownText(Buffer.from(text, 'latin1'));
}

/** Returns the lifetime of an entry to be set; undefined if the request has been refused. */
function lifetimeOf(call: Call, settings: Lifetime): Lifetime | undefined {
  const { head } = call.request;
  if (!head.has(GRID_TIME_TO_LIVE) && !head.has(GRID_MAX_IDLE)) return settings;
  const timeToLive = secondsOf(call, GRID_TIME_TO_LIVE, settings.timeToLiveMs / 1000);
  if (timeToLive === undefined) return undefined;
  const maxIdleSeconds = secondsOf(call, GRID_MAX_IDLE, settings.maxIdleSeconds);
  return maxIdleSeconds === undefined
    ? undefined
    : { timeToLiveMs: timeToLive * 1000, maxIdleSeconds };
}

function secondsOf(call: Call, field: HeaderField, fallback: number): number | undefined {
  const { head } = call.request;
  if (!head.has(field)) return fallback;
  const seen = shownText(head.field(field));
  const seconds = /^\d{1,10}$/.test(seen) ? Number(seen) : Number.NaN;
  if (seconds <= SECONDS_MAX) return seconds;
  refuse(call, 'LIFETIME_INVALID', { field: field.name.toString(), seen: JSON.stringify(seen) });
  return undefined;
}

/** Returns the number to be added; undefined if the request has been refused. */
function addendOf(call: Call): bigint | undefined {
  const parameters = new Parameters([BY]);
  if (!readForm(call, call.request.content, parameters)) return undefined;
  const value = parameters.get(BY);
  if (value === undefined) return ONE;
  const by = decimalIn(value);
  if (by !== undefined) return by;
  const values = { name: BY, seen: shownText(value), expected: 'a 64-bit integer' };
  refuse(call, 'PARAMETER_INVALID', values);
  return undefined;
}

function respondDescription(call: Call, answer: OperationResult): void {
  const { count, bytes, outcome } = answer;
  if (outcome !== COUNTED) return fail(call, answer);
  respondText(call, answer, JSON_TYPE, mapLine(call.name, count, bytes));
}

function respondSize(call: Call, answer: OperationResult): void {
  if (answer.outcome !== COUNTED) return fail(call, answer);
  respondText(call, answer, TEXT_PLAIN, String(answer.count));
}

/** Responds to a removal. */
function respondDone(call: Call, answer: OperationResult): void {
  const { request } = call;
  if (answer.outcome === CONDITION_FAILED) return refuseChanged(call, answer);
  if (answer.outcome !== APPLIED) return fail(call, answer);
  request.addResponseLines(NO_STORE);
  request.respondEmpty(204, answer.partition, answer.sequence);
}

function respondPut(call: Call, answer: OperationResult): void {
  const { request } = call;
  const { outcome, wasPresent, partition, sequence } = answer;
  if (outcome === CONDITION_FAILED) return refuseChanged(call, answer);
  if (outcome !== APPLIED) return fail(call, answer);
  request.addResponseLines(entryLines(answer));
  request.respondEmpty(wasPresent ? 204 : 201, partition, sequence);
}

function respondSum(call: Call, answer: OperationResult): void {
  const { request } = call;
  const { outcome, value, partition, sequence } = answer;
  if (outcome === NO_NUMBER) return refuseFor(call, answer, 'VALUE_NO_NUMBER');
  if (outcome !== APPLIED) return fail(call, answer);
  request.addResponseLines(entryLines(answer));
  const response = request.draft(200, partition, sequence);
  response.contentType = TEXT_PLAIN;
  response.content = value;
  request.send(response);
}

function respondEntry(call: Call, answer: OperationResult): void {
  const { request } = call;
  const { head } = request;
  const { outcome, version, partition, sequence } = answer;
  if (outcome !== FOUND && outcome !== ABSENT) return fail(call, answer);
  if (isConditional(head)) {
    const { meetsMatch, meetsNoneMatch } = preconditionsIn(head, version);
    if (!meetsMatch) return refuseChanged(call, answer);
    if (!meetsNoneMatch) {
      request.addResponseLines(entryLines(answer));
      return request.respondEmpty(304, partition, sequence);
    }
  }
  if (outcome === ABSENT) return refuseFor(call, answer, 'ENTRY_ABSENT');
  const range =
    head.method === GET && head.has(RANGE) && meetsIfRange(head, version)
      ? rangeIn(head.fieldText(RANGE), answer.value.length)
      : undefined;
  if (range === UNSATISFIABLE) return refuseRange(call, answer);
  request.addResponseLines(`${entryLines(answer)}${OPENED_VALUE}${lifetimeLines(answer)}`);
  request.send(valueResponse(request, answer, range));
}

/** Returns the response with the value, or with a range of it. */
function valueResponse(
  request: Request,
  answer: OperationResult,
  range: ByteRange | undefined,
): Response {
  const { value, contentType, partition, sequence } = answer;
  const response = request.draft(range === undefined ? 200 : 206, partition, sequence);
  response.contentType = contentType;
  response.content = value;
  const { length } = value;
  if (range !== undefined) {
    const { start, end } = range;
    request.addResponseLines(`Content-Range: bytes ${start}-${end - 1}/${length}\r\n`);
    response.content = new Span().set(value.bytes, value.start + start, value.start + end);
  }
  if (length > VALUE_COPY_BYTES_MAX) response.pinned = answer.pin();
  return response;
}

function entryLines({ version }: OperationResult): string {
  return `ETag: ${tagOf(version)}\r\n${ENTRY_LINES}`;
}

function lifetimeLines({ timeToLiveMs, maxIdleSeconds }: OperationResult): string {
  const left = secondsLeft(timeToLiveMs);
  const timeToLive = timeToLiveMs === 0 ? '' : `Grid-Time-To-Live: ${left}\r\n`;
  return maxIdleSeconds === 0 ? timeToLive : `${timeToLive}Grid-Max-Idle: ${maxIdleSeconds}\r\n`;
}

/** Refuses a request whose condition the entry does not meet; the tag is that of the entry, if any. */
function refuseChanged(call: Call, answer: OperationResult): void {
  const { version } = answer;
  if (!version.isNone) call.request.addResponseLines(`ETag: ${tagOf(version)}\r\n`);
  refuseFor(call, answer, 'ENTRY_CHANGED');
}

function refuseRange(call: Call, answer: OperationResult): void {
  const { request } = call;
  const { length } = answer.value;
  request.addResponseLines(`Content-Range: bytes */${length}\r\n`);
  const range = shown(request.head.fieldText(RANGE));
  refuseFor(call, answer, 'RANGE_OUTSIDE', { range, length });
}

/** Refuses a request because of the entry: the response depends on the entry's last change. */
function refuseFor(
  call: Call,
  answer: OperationResult,
  code: 'ENTRY_ABSENT' | 'ENTRY_CHANGED' | 'VALUE_NO_NUMBER' | 'RANGE_OUTSIDE',
  values = { range: '', length: 0 },
): void {
  const message = refusalText(code, { action: call.describe(), ...values });
  call.request.note(code, message);
  const { status } = REFUSALS[code];
  respondText(call, answer, JSON_TYPE, JSON.stringify({ status: 'fail', message }), status);
}

const SLASH = 0x2f;
