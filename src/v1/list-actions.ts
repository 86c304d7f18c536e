/** The actions of `v1` that list maps, keys and entries. */

import { EVERY_PARTITION } from '../base/partition-number.ts';
import { NO_SPAN, Span } from '../base/span.ts';
import {
  type Engine,
  type EntryReceiver,
  LIST_COUNT_MAX,
  LIST_START,
  LISTED,
  type NameReceiver,
  type OperationResult,
} from '../engine/engine.ts';
import { MAP, READ } from '../security/permissions.ts';
import type { Call, WaitingAction } from '../surface/action.ts';
import { cursorOf, type ListIdentity, placeIn } from './cursor.ts';
import { bytesMember, entryLine, mapLine } from './json-lines.ts';
import type { LineWorkParts } from './line-check.ts';
import { LineResponse, type LineSource } from './line-response.ts';
import { Parameters, queryOf, shownText } from './parameters.ts';
import { readForm, refuse } from './v1-calls.ts';
import { CURSOR, LIMIT, LIMIT_MAX, PREFIX } from './v1-routes.ts';

interface ListParts extends LineWorkParts {
  readonly engine: Engine;
}

/** The list that a request asks for. */
interface ListRequest {
  readonly prefix: Span;
  /** Maximum number of lines. */
  readonly limit: number;
  readonly place: Span;
  readonly identity: ListIdentity;
}

export function listActions(parts: ListParts) {
  const { engine } = parts;
  const listing = (begin: (call: Call, list: ListRequest) => List): WaitingAction => ({
    waits: () => true,
    run(call) {
      const list = listOf(call, engine.listRun, begin === names);
      if (list === undefined) return;
      const source = begin(call, list);
      source.lines = new LineResponse(call, parts, source);
      source.lines.begin();
    },
  });
  const names = (call: Call, list: ListRequest) => nameList(engine, list, call);
  return {
    listMaps: listing(names),
    listKeys: listing((_, list) => entryList(engine, list, keyLine)),
    listEntries: listing((_, list) => entryList(engine, list, entryLine)),
  };
}

function keyLine(key: Span): string {
  return `{${bytesMember('key', key)}}`;
}

/** Returns the list that the parameters ask for; undefined if the request has been refused. */
function listOf(call: Call, run: number, isOfNames: boolean): ListRequest | undefined {
  const { head } = call.request;
  const parameters = new Parameters([PREFIX, LIMIT, CURSOR]);
  // The list is made in later turns.
  if (!readForm(call, Span.of(queryOf(head).toBuffer()), parameters)) return undefined;
  const limit = limitIn(call, parameters);
  if (limit === undefined) return undefined;
  const identity = { map: isOfNames ? undefined : call.name.toBuffer(), run };
  const cursor = parameters.get(CURSOR);
  const place = cursor === undefined ? LIST_START : placeIn(cursor.toBuffer(), identity);
  if (place !== undefined) {
    return { prefix: parameters.get(PREFIX) ?? NO_SPAN, limit, place, identity };
  }
  const expected = `a cursor of this list${run === 0 ? '' : ' since the member has started'}`;
  refuse(call, 'PARAMETER_INVALID', { name: CURSOR, seen: shownText(cursor!), expected });
  return undefined;
}

function limitIn(call: Call, parameters: Parameters): number | undefined {
  const value = parameters.get(LIMIT);
  if (value === undefined) return Number.POSITIVE_INFINITY;
  const seen = shownText(value);
  const limit = /^\d{1,5}$/.test(seen) ? Number(seen) : 0;
  if (limit >= 1 && limit <= LIMIT_MAX) return limit;
  const expected = `an integer from 1 to ${LIMIT_MAX}`;
  refuse(call, 'PARAMETER_INVALID', { name: LIMIT, seen, expected });
  return undefined;
}

/** A list of elements of the engine, in calls of it. After the limit it looks for one more. */
class List implements LineSource {
  lines!: LineResponse;
  readonly endsEarly = true;
  readonly #identity: ListIdentity;
  readonly #ask: Ask;
  /** The place of the next call; empty at the end of the list. */
  #place: Span;
  #rest: number;
  #isMore = false;

  constructor({ place, limit, identity }: ListRequest, ask: Ask) {
    this.#identity = identity;
    this.#ask = ask;
    this.#place = place;
    this.#rest = limit;
  }

  step(): void {
    this.#ask(this.#place, Math.max(1, Math.min(this.#rest, LIST_COUNT_MAX)));
  }

  lastLine(): string {
    const cursor = this.#place.length === 0 ? null : cursorOf(this.#place, this.#identity);
    return JSON.stringify({ cursor });
  }

  /** Adds the line of an element, if it is not the one after the limit. */
  add(line: () => string, partition: number, sequence: number): void {
    if (this.#rest > 0) {
      this.#rest--;
      this.lines.add(line(), partition, sequence);
    } else this.#isMore = true;
  }

  onResult(answer: OperationResult): void {
    if (answer.outcome !== LISTED) return this.lines.fail(answer);
    if (!this.#isMore) this.#place = Span.of(answer.place.toBuffer());
    this.lines.onStep(this.#isMore || this.#place.length === 0);
  }
}

/** Calls the engine for up to `count` elements from a place on. */
type Ask = (place: Span, count: number) => void;

/** Makes the lines of the entries of a map. */
function entryList(engine: Engine, request: ListRequest, lineOf: typeof entryLine): List {
  const map = Span.of(request.identity.map!);
  const list = new List(request, (place, count) => {
    engine.entries(map, request.prefix, place, count, receiver);
  });
  const receiver: EntryReceiver = {
    hasNoValues: lineOf === keyLine,
    onEntry(key, entry, length) {
      list.add(() => lineOf(key, entry, length), entry.partition, entry.sequence);
    },
    onResult: (answer) => list.onResult(answer),
  };
  return list;
}

/** Makes the lines of the maps that have entries and that the user may read. */
function nameList(engine: Engine, request: ListRequest, { grants }: Call): List {
  const list = new List(request, (place, count) => {
    engine.names('map', request.prefix, place, count, receiver);
  });
  const receiver: NameReceiver = {
    onName(name, size, bytes) {
      if (grants?.allow(MAP, name, READ) === false) return;
      list.add(() => mapLine(name, size, bytes), EVERY_PARTITION, 0);
    },
    onResult: (answer) => list.onResult(answer),
  };
  return list;
}
