/**
 * An engine whose results arrive later. It keeps the contract of src/engine/engine.ts and
 * guarantees nothing beyond it, so a caller that relies only on the contract works with it. It
 * wraps an engine whose results arrive during the call and which returns a hold for every take. It
 * copies all arguments. Each call takes effect and returns its result at the end of the next turn
 * or of a later one, chosen by seeded random numbers (late-lanes.ts). The bytes of a result are
 * overwritten when its receiver returns (late-result.ts).
 *
 * An ordered late engine behaves like an engine on another thread: one lane for all calls.
 * Otherwise it behaves like an engine on several servers: a lane for each partition, separate
 * lanes for reads of maps, and a clear that spans all lanes.
 */
import type { Random } from '../../bench/harness.ts';
import type { Clock } from '../../src/base/clock.ts';
import { Span } from '../../src/base/span.ts';
import { TicketTable } from '../../src/base/ticket-table.ts';
import type { Condition, EntryCondition } from '../../src/engine/condition.ts';
import {
  ABSENT,
  APPLIED,
  CLOSED,
  type Engine,
  type EntryReceiver,
  type Lifetime,
  type NameKind,
  type NameReceiver,
  NO_HOLD,
  NO_TICKET,
  NOBODY,
  type OperationResult,
  type Receiver,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import { partitionOf } from '../../src/engine/hash.ts';
import { KeyWords } from '../../src/engine/key-words.ts';
import { Version } from '../../src/engine/version.ts';
import { type Lane, Lanes, type Turns } from './late-lanes.ts';
import { LateResult, SPOILT } from './late-result.ts';

export interface LateEngineOptions {
  readonly clock: Pick<Clock, 'endOfTurn'>;
  readonly random: Random;
  readonly isOrdered: boolean;
  /** The turns in which calls take effect; random by default. */
  readonly turns?: Turns;
  /** Partition count of the wrapped engine. */
  readonly partitionCount: number;
}

/** A take that has no result yet. */
interface Take {
  readonly receiver: Receiver;
  readonly lane: Lane;
  readonly place: number;
  /** Whether the take has ended and must not have a result. */
  isOver: boolean;
  /** Ticket of the wrapped engine while the take waits in it, then the result that arrived. */
  ticket: number;
  hold: number;
}

export class LateEngine implements Engine {
  readonly isOrdered: boolean;
  readonly #inside: Engine;
  readonly #options: LateEngineOptions;
  readonly #random: Random;
  readonly #lanes: Lanes;
  readonly #tickets = new TicketTable();
  readonly #takes: (Take | undefined)[] = [];
  /** By hold: the lane of each item that was removed and is neither delivered nor returned. */
  readonly #holds = new Map<number, Lane>();
  /** Operations without a result, including waiting takes. */
  operationCount = 0;
  /** Pins that are not released. */
  pinCount = 0;
  #isOpen = false;
  #closing: Promise<void> | undefined;
  #onClosed: (() => void) | undefined;

  constructor(inside: Engine, options: LateEngineOptions) {
    const { clock, random, turns = 'random', isOrdered } = options;
    this.isOrdered = isOrdered;
    this.#inside = inside;
    this.#options = options;
    this.#random = random;
    this.#lanes = new Lanes(clock, random, turns, () => this.#onIdle());
  }

  get listRun(): number {
    return this.#inside.listRun;
  }

  get isReachable(): boolean {
    return this.#isOpen && this.#closing === undefined;
  }

  /** Items that were removed and are neither delivered nor returned, including those in transit. */
  get holdCount(): number {
    return this.#holds.size;
  }

  /** Tickets of takes without a result. */
  get ticketCount(): number {
    return this.#tickets.count;
  }

  get(map: Span, key: Span, receiver: Receiver): void {
    const name = copyOf(map);
    const copy = copyOf(key);
    this.#read(this.#laneOf(key), receiver, (to) => this.#inside.get(name, copy, to));
  }

  set(
    map: Span,
    key: Span,
    value: Span,
    contentType: Span,
    lifetime: Lifetime,
    condition: Condition,
    receiver: Receiver,
  ): void {
    const name = copyOf(map);
    const copy = copyOf(key);
    const bytes = copyOf(value);
    const type = copyOf(contentType);
    const { timeToLiveMs, maxIdleSeconds } = lifetime;
    const life = { timeToLiveMs, maxIdleSeconds };
    const copied = copiedCondition(condition);
    this.#call(this.#laneOf(key), receiver, (to) =>
      this.#inside.set(name, copy, bytes, type, life, copied, to),
    );
  }

  add(map: Span, key: Span, by: bigint, lifetime: Lifetime, receiver: Receiver): void {
    const name = copyOf(map);
    const copy = copyOf(key);
    const { timeToLiveMs, maxIdleSeconds } = lifetime;
    const life = { timeToLiveMs, maxIdleSeconds };
    this.#call(this.#laneOf(key), receiver, (to) => this.#inside.add(name, copy, by, life, to));
  }

  delete(map: Span, key: Span, condition: Condition, receiver: Receiver): void {
    const name = copyOf(map);
    const copy = copyOf(key);
    const copied = copiedCondition(condition);
    this.#call(this.#laneOf(key), receiver, (to) => this.#inside.delete(name, copy, copied, to));
  }

  clear(map: Span, receiver: Receiver): void {
    const name = copyOf(map);
    const clear = (to: Receiver) => this.#inside.clear(name, to);
    if (this.isOrdered) return this.#call(this.#lanes.lane(0), receiver, clear);
    const isDone = this.#begin();
    this.#lanes.callWide((lane) => this.#do(isDone, lane, receiver, clear));
  }

  size(map: Span, receiver: Receiver): void {
    const name = copyOf(map);
    this.#read(undefined, receiver, (to) => this.#inside.size(name, to));
  }

  entries(map: Span, prefix: Span, place: Span, count: number, receiver: EntryReceiver): void {
    const [name, start, from] = [copyOf(map), copyOf(prefix), copyOf(place)];
    this.#list(receiver, (listed, onResult) => {
      const onEntry = (key: Span, entry: OperationResult, length: number) => {
        const answer = this.#blank().copyFrom(entry);
        const copy = copyOf(key);
        listed.push(() => {
          answer.give({ onResult: (late) => receiver.onEntry(copy, late, length) });
          copy.bytes.fill(SPOILT);
        });
      };
      const { hasNoValues = false } = receiver;
      this.#inside.entries(name, start, from, count, { hasNoValues, onEntry, onResult });
    });
  }

  names(kind: NameKind, prefix: Span, place: Span, count: number, receiver: NameReceiver): void {
    const [start, from] = [copyOf(prefix), copyOf(place)];
    this.#list(receiver, (listed, onResult) => {
      const onName = (name: Span, size: number, bytes: number) => {
        const copy = copyOf(name);
        listed.push(() => {
          receiver.onName(copy, size, bytes);
          copy.bytes.fill(SPOILT);
        });
      };
      this.#inside.names(kind, start, from, count, { onName, onResult });
    });
  }

  offer(queue: Span, value: Span, contentType: Span, receiver: Receiver): void {
    const name = copyOf(queue);
    const bytes = copyOf(value);
    const type = copyOf(contentType);
    this.#call(this.#laneOf(queue), receiver, (to) => this.#inside.offer(name, bytes, type, to));
  }

  peek(queue: Span, receiver: Receiver): void {
    const name = copyOf(queue);
    this.#call(this.#laneOf(queue), receiver, (to) => this.#inside.peek(name, to));
  }

  queueSize(queue: Span, receiver: Receiver): void {
    const name = copyOf(queue);
    this.#call(this.#laneOf(queue), receiver, (to) => this.#inside.queueSize(name, to));
  }

  take(queue: Span, timeoutMs: number, receiver: Receiver): number {
    const name = copyOf(queue);
    const lane = this.#laneOf(queue);
    const place = this.#tickets.allocate();
    const take = { receiver, lane, place, isOver: false, ticket: NO_TICKET, hold: NO_HOLD };
    this.#takes[place] = take;
    const isDone = this.#begin();
    this.#lanes.call(lane, () => this.#take(isDone, take, name, timeoutMs));
    return this.#tickets.ticketOf(place);
  }

  cancel(ticket: number): void {
    const take = this.#takes[this.#tickets.indexOf(ticket)];
    if (take === undefined) return;
    this.#end(take);
    this.#lanes.call(take.lane, () => this.#abandon(take));
  }

  acknowledge(hold: number, isDelivered: boolean, receiver: Receiver): void {
    const lane = this.#holds.get(hold) ?? this.#lanes.lane(0);
    this.#call(lane, receiver, (to) => this.#acknowledge(hold, isDelivered, to));
  }

  async open(): Promise<void> {
    this.#isOpen = true;
    await this.#inside.open();
  }

  close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing;
    this.#closing = new Promise((resolve) => {
      this.#onClosed = resolve;
    });
    for (const take of this.#takes.filter((each) => each !== undefined)) {
      this.#end(take);
      this.#lanes.call(take.lane, () => this.#abandon(take));
      this.#blank().set(ABSENT).give(take.receiver);
    }
    this.#lanes.schedule();
    return this.#closing;
  }

  /**
   * Reads a map, in one partition or in all. The read sees all completed changes, and perhaps more.
   */
  #read(lane: Lane | undefined, receiver: Receiver, work: (to: Receiver) => void): void {
    if (this.isOrdered) return this.#call(this.#lanes.lane(0), receiver, work);
    if (lane !== undefined && this.#random.below(2) === 0) return this.#call(lane, receiver, work);
    const isDone = this.#begin();
    this.#lanes.callLoose((own) => this.#do(isDone, own, receiver, work));
  }

  /** Lists something: passes the copied elements to the receiver together with the result. */
  #list(
    receiver: Receiver,
    list: (listed: (() => void)[], onResult: Receiver['onResult']) => void,
  ): void {
    const listed: (() => void)[] = [];
    const onResult = (answer: OperationResult) => {
      for (const pass of listed) pass();
      receiver.onResult(answer);
    };
    this.#read(undefined, { onResult }, (to) => list(listed, (answer) => to.onResult(answer)));
  }

  #call(lane: Lane, receiver: Receiver, work: (to: Receiver) => void): void {
    const isDone = this.#begin();
    this.#lanes.call(lane, () => this.#do(isDone, lane, receiver, work));
  }

  /** Counts a called operation. Returns whether it is done; otherwise the engine is closed. */
  #begin(): boolean {
    this.operationCount++;
    return this.#closing === undefined;
  }

  /** Makes the operation take effect, unless the engine was closed when it was called. */
  #do(isDone: boolean, lane: Lane, receiver: Receiver, work: (to: Receiver) => void): void {
    const answer = this.#blank();
    if (!isDone) return this.#answer(lane, receiver, answer.set(UNREACHABLE, CLOSED));
    const onResult = (inner: OperationResult) =>
      this.#answer(lane, receiver, answer.copyFrom(inner));
    work({ onResult });
  }

  #take(isDone: boolean, take: Take, queue: Span, timeoutMs: number): void {
    if (isDone) {
      const onResult = (answer: OperationResult) => this.#taken(take, answer);
      take.ticket = this.#inside.take(queue, timeoutMs, { onResult });
      return;
    }
    const closed = this.#blank().set(UNREACHABLE, CLOSED);
    this.#lanes.answer(take.lane, () => this.#resolveTake(take, closed));
  }

  /** Handles the wrapped engine's result of a take, which may have been cancelled. */
  #taken(take: Take, inner: OperationResult): void {
    take.ticket = NO_TICKET;
    take.hold = inner.hold;
    if (take.hold !== NO_HOLD) this.#holds.set(take.hold, take.lane);
    const answer = this.#blank().copyFrom(inner);
    this.#lanes.answer(take.lane, () => this.#resolveTake(take, answer));
  }

  #resolveTake(take: Take, answer: LateResult): void {
    if (take.isOver) return;
    this.#end(take);
    answer.give(take.receiver);
  }

  /** Returns the item of a take that gets no result. */
  #abandon(take: Take): void {
    if (take.ticket !== NO_TICKET) this.#inside.cancel(take.ticket);
    else if (take.hold !== NO_HOLD) this.#acknowledge(take.hold, false, NOBODY);
  }

  /** Ends a take that has its result, or will never have one. */
  #end(take: Take): void {
    take.isOver = true;
    this.operationCount--;
    this.#takes[take.place] = undefined;
    this.#tickets.free(take.place);
  }

  #acknowledge(hold: number, isDelivered: boolean, receiver: Receiver): void {
    const onResult = (answer: OperationResult) => {
      if (answer.outcome === APPLIED) this.#holds.delete(hold);
      receiver.onResult(answer);
    };
    this.#inside.acknowledge(hold, isDelivered, { onResult });
  }

  #answer(lane: Lane, receiver: Receiver, answer: LateResult): void {
    this.#lanes.answer(lane, () => {
      this.operationCount--;
      answer.give(receiver);
    });
  }

  #blank(): LateResult {
    return new LateResult(this);
  }

  #onIdle(): void {
    const onClosed = this.#onClosed;
    this.#onClosed = undefined;
    if (onClosed === undefined) return;
    this.#holds.clear();
    this.#inside.close().then(onClosed);
  }

  /** Returns the lane of the partition of a key, or of a queue's name. */
  #laneOf(key: Span): Lane {
    if (this.isOrdered) return this.#lanes.lane(0);
    const { words, length } = KEY.load(key);
    return this.#lanes.lane(partitionOf(words, 0, length, this.#options.partitionCount));
  }
}

/** The key whose partition is computed. */
const KEY = new KeyWords();

/** Returns a span over copied bytes. */
function copyOf(span: Span): Span {
  const bytes = span.toBuffer();
  return new Span().set(bytes, 0, bytes.length);
}

function copiedCondition(condition: Condition): Condition {
  if (condition === undefined) return undefined;
  const copied: { -readonly [Name in keyof EntryCondition]: EntryCondition[Name] } = {};
  const { isPresent, oneOf, noneOf } = condition;
  if (isPresent !== undefined) copied.isPresent = isPresent;
  if (oneOf !== undefined) copied.oneOf = oneOf.map((each) => new Version().copyFrom(each));
  if (noneOf !== undefined) copied.noneOf = noneOf.map((each) => new Version().copyFrom(each));
  return copied;
}
