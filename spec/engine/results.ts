/**
 * Calls an engine and copies its results, whenever they arrive, so that tests can check them later.
 * Works on any engine, whether its results arrive during the call or in a later turn.
 */
import { Span } from '../../src/base/span.ts';
import type { Condition } from '../../src/engine/condition.ts';
import {
  type Engine,
  type EntryReceiver,
  FOREVER,
  LIST_COUNT_MAX,
  LIST_START,
  type Lifetime,
  type NameKind,
  type NameReceiver,
  NO_HOLD,
  type OperationResult,
  type Outcome,
  type Receiver,
} from '../../src/engine/engine.ts';
import { Version } from '../../src/engine/version.ts';

/** Maximum number of calls of a list in a test. */
const CALLS_MAX = 100_000;

/** A copy of a result. */
export interface Seen {
  readonly outcome: Outcome;
  readonly partition: number;
  readonly sequence: number;
  readonly value: string;
  readonly contentType: string;
  readonly count: number;
  readonly bytes: number;
  readonly hold: number;
  readonly version: Version;
  readonly wasPresent: boolean;
  readonly timeToLiveMs: number;
  readonly maxIdleSeconds: number;
  readonly place: string;
  readonly veto: number;
  readonly reason: number;
}

/** A copy of a listed entry. */
export interface SeenEntry extends Seen {
  readonly key: string;
  readonly length: number;
}

/** A copy of a listed name. */
export interface SeenName {
  readonly name: string;
  readonly size: number;
  readonly bytes: number;
}

/** A receiver that stores its result; may be used for only one operation. */
export class Keeper implements Receiver {
  /** The result, once it has arrived. */
  seen: Seen | undefined;
  #answered: Promise<Seen> | undefined;
  #resolve: (seen: Seen) => void = () => {};
  readonly #also: ((answer: OperationResult) => void) | undefined;

  /** `also` is called inside onResult, after the copy. */
  constructor(also?: (answer: OperationResult) => void) {
    this.#also = also;
  }

  /** Created only on request, because the test runner cannot handle a million promises. */
  get answered(): Promise<Seen> {
    this.#answered ??= new Promise((resolve) => {
      if (this.seen === undefined) this.#resolve = resolve;
      else resolve(this.seen);
    });
    return this.#answered;
  }

  get isAnswered(): boolean {
    return this.seen !== undefined;
  }

  onResult(answer: OperationResult): void {
    if (this.seen !== undefined) throw new Error('Two results');
    this.seen = copied(answer);
    this.#resolve(this.seen);
    this.#also?.(answer);
  }
}

/** A receiver of one call of a list, which stores what it is passed. */
export class ListKeeper extends Keeper implements EntryReceiver, NameReceiver {
  readonly entries: SeenEntry[] = [];
  readonly names: SeenName[] = [];
  readonly #also: ((key: string, entry?: OperationResult) => void) | undefined;

  /** `also` is called inside onEntry and onName, after the copy. */
  constructor(also?: (key: string, entry?: OperationResult) => void) {
    super();
    this.#also = also;
  }

  onEntry(key: Span, entry: OperationResult, length: number): void {
    if (this.seen !== undefined) throw new Error('An entry after the result');
    const text = textOf(key);
    this.entries.push({ ...copied(entry), key: text, length });
    this.#also?.(text, entry);
    if (textOf(key) !== text) throw new Error('The key has changed during onEntry');
  }

  onName(name: Span, size: number, bytes: number): void {
    if (this.seen !== undefined) throw new Error('A name after the result');
    const text = textOf(name);
    this.names.push({ name: text, size, bytes });
    this.#also?.(text);
    if (textOf(name) !== text) throw new Error('The name has changed during onName');
  }
}

/** The arguments of a call of a list; by default those for all elements from the start. */
export interface ListOptions {
  readonly prefix?: Bytes;
  readonly place?: Bytes;
  readonly count?: number;
}

/** For a version, returns the condition that the entry has it; for none, that there is no entry. */
export function conditionOf(on: Condition | Version): Condition {
  if (!(on instanceof Version)) return on;
  return on.isNone ? { isPresent: false } : { oneOf: [on] };
}

export function copied(answer: OperationResult): Seen {
  return {
    outcome: answer.outcome,
    partition: answer.partition,
    sequence: answer.sequence,
    value: textOf(answer.value),
    contentType: textOf(answer.contentType),
    count: answer.count,
    bytes: answer.bytes,
    hold: answer.hold,
    version: new Version().copyFrom(answer.version),
    wasPresent: answer.wasPresent,
    timeToLiveMs: answer.timeToLiveMs,
    maxIdleSeconds: answer.maxIdleSeconds,
    place: textOf(answer.place),
    veto: answer.veto,
    reason: answer.reason,
  };
}

function textOf({ bytes, start, end }: Span): string {
  return start === end ? '' : bytes.toString('latin1', start, end);
}

/** Bytes that many spans share, the number of those in use, and of those between two spans. */
let page = Buffer.alloc(0);
let usedBytes = 0;
const PAGE_BYTES = 65_536;
const GAP_BYTES = 3;

/** Returns a new span over a copy of the bytes, one per character, not at the buffer's start. */
export function span(text: string | Buffer): Span {
  const { length } = text;
  if (usedBytes + GAP_BYTES + length >= page.length) {
    page = Buffer.alloc(Math.max(PAGE_BYTES, length + 2 * GAP_BYTES), '<');
    usedBytes = 0;
  }
  const start = usedBytes + GAP_BYTES;
  usedBytes = start + length;
  if (typeof text === 'string') page.write(text, start, 'latin1');
  else text.copy(page, start);
  return new Span().set(page, start, usedBytes);
}

type Bytes = string | Buffer;

/** The engine's operations on texts. A subclass makes the calls and returns their results. */
export abstract class Operations<Result> {
  readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  get(map: Bytes, key: Bytes): Result {
    return this.ask((receiver) => this.engine.get(span(map), span(key), receiver));
  }

  set(
    map: Bytes,
    key: Bytes,
    value: Bytes,
    contentType: Bytes = '',
    lifetime: Lifetime = FOREVER,
    on: Condition | Version = undefined,
  ): Result {
    const [type, condition] = [span(contentType), conditionOf(on)];
    return this.ask((receiver) =>
      this.engine.set(span(map), span(key), span(value), type, lifetime, condition, receiver),
    );
  }

  /** Sets an entry, without content type or lifetime, on a condition. */
  setIf(map: Bytes, key: Bytes, value: Bytes, on: Condition | Version): Result {
    return this.set(map, key, value, '', FOREVER, on);
  }

  add(map: Bytes, key: Bytes, by: bigint, lifetime: Lifetime = FOREVER): Result {
    return this.ask((receiver) => this.engine.add(span(map), span(key), by, lifetime, receiver));
  }

  delete(map: Bytes, key: Bytes, on: Condition | Version = undefined): Result {
    const condition = conditionOf(on);
    return this.ask((receiver) => this.engine.delete(span(map), span(key), condition, receiver));
  }

  clear(map: Bytes): Result {
    return this.ask((receiver) => this.engine.clear(span(map), receiver));
  }

  size(map: Bytes): Result {
    return this.ask((receiver) => this.engine.size(span(map), receiver));
  }

  offer(queue: Bytes, value: Bytes, contentType: Bytes = ''): Result {
    return this.ask((receiver) =>
      this.engine.offer(span(queue), span(value), span(contentType), receiver),
    );
  }

  peek(queue: Bytes): Result {
    return this.ask((receiver) => this.engine.peek(span(queue), receiver));
  }

  queueSize(queue: Bytes): Result {
    return this.ask((receiver) => this.engine.queueSize(span(queue), receiver));
  }

  /** A take that does not wait. */
  take(queue: Bytes): Result {
    return this.ask((receiver) => this.engine.take(span(queue), 0, receiver));
  }

  acknowledge(hold: number, isDelivered: boolean): Result {
    return this.ask((receiver) => this.engine.acknowledge(hold, isDelivered, receiver));
  }

  protected abstract ask(call: (receiver: Receiver) => void): Result;
}

/** The operations of any engine, each with a promise of its result. */
export class Asker extends Operations<Promise<Seen>> {
  /** Takes an item, and acknowledges it if it is held. Returns the take's result. */
  async poll(queue: Bytes): Promise<Seen> {
    const taken = await this.take(queue);
    if (taken.hold !== NO_HOLD) await this.acknowledge(taken.hold, true);
    return taken;
  }

  /** One call of a list of entries. */
  async entries(map: Bytes, options: ListOptions = {}, keeper = new ListKeeper()) {
    const { prefix = '', place = LIST_START.bytes, count = LIST_COUNT_MAX } = options;
    this.engine.entries(span(map), span(prefix), span(place), count, keeper);
    await keeper.answered;
    return keeper;
  }

  /** One call of a list of names. */
  async names(kind: NameKind, options: ListOptions = {}, keeper = new ListKeeper()) {
    const { prefix = '', place = LIST_START.bytes, count = LIST_COUNT_MAX } = options;
    this.engine.names(kind, span(prefix), span(place), count, keeper);
    await keeper.answered;
    return keeper;
  }

  /** Lists entries to the end; `between` is called after each call. */
  async allEntries(map: Bytes, options: ListOptions = {}, between = async () => {}) {
    const all: SeenEntry[] = [];
    await toEnd(options, async (each) => {
      const { entries, seen } = await this.entries(map, each);
      for (const entry of entries) all.push(entry);
      await between();
      return seen?.place;
    });
    return all;
  }

  /** Lists names to the end. */
  async allNames(kind: NameKind, options: ListOptions = {}) {
    const all: SeenName[] = [];
    await toEnd(options, async (each) => {
      const { names, seen } = await this.names(kind, each);
      for (const name of names) all.push(name);
      return seen?.place;
    });
    return all;
  }

  /** A take that may wait: returns its receiver and its ticket. */
  wait(queue: Bytes, timeoutMs: number, also?: (answer: OperationResult) => void): Waiting {
    const keeper = new Keeper(also);
    return { keeper, ticket: this.engine.take(span(queue), timeoutMs, keeper) };
  }

  protected override async ask(call: (receiver: Receiver) => void): Promise<Seen> {
    const keeper = new Keeper();
    call(keeper);
    return keeper.answered;
  }
}

/** Calls a list until its end; `call` returns the next place. */
async function toEnd(
  options: ListOptions,
  call: (options: ListOptions) => Promise<string | undefined>,
): Promise<void> {
  let place = await call(options);
  for (let rest = CALLS_MAX; place !== undefined && place !== ''; rest--) {
    if (rest === 0) throw new Error(`A list without an end after ${CALLS_MAX} calls`);
    place = await call({ ...options, place });
  }
}

export interface Waiting {
  readonly keeper: Keeper;
  readonly ticket: number;
}
