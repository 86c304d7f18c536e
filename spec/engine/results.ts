/**
 * Calls an engine and copies its results, whenever they arrive, so that tests can check them later.
 * Works on any engine, whether its results arrive during the call or in a later turn.
 */
import { Span } from '../../src/base/span.ts';
import {
  type Condition,
  type Engine,
  FOREVER,
  type Lifetime,
  NO_HOLD,
  type OperationResult,
  type Outcome,
  type Receiver,
} from '../../src/engine/engine.ts';
import { Version } from '../../src/engine/version.ts';

/** A copy of a result. */
export interface Seen {
  readonly outcome: Outcome;
  readonly partition: number;
  readonly sequence: number;
  readonly value: string;
  readonly contentType: string;
  readonly count: number;
  readonly hold: number;
  readonly version: Version;
  readonly veto: number;
  readonly reason: number;
}

/** A receiver that stores its result; may be used for only one operation. */
export class Keeper implements Receiver {
  /** The result, once it has arrived. */
  seen: Seen | undefined;
  readonly answered: Promise<Seen>;
  #resolve: (seen: Seen) => void = () => {};
  readonly #also: ((answer: OperationResult) => void) | undefined;

  /** `also` is called inside onResult, after the copy. */
  constructor(also?: (answer: OperationResult) => void) {
    this.#also = also;
    this.answered = new Promise((resolve) => {
      this.#resolve = resolve;
    });
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

export function copied(answer: OperationResult): Seen {
  return {
    outcome: answer.outcome,
    partition: answer.partition,
    sequence: answer.sequence,
    value: textOf(answer.value),
    contentType: textOf(answer.contentType),
    count: answer.count,
    hold: answer.hold,
    version: new Version().copyFrom(answer.version),
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

/** The engine's operations on texts, each with a promise of its result. */
export class Asker {
  readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  get(map: Bytes, key: Bytes): Promise<Seen> {
    return this.#ask((keeper) => this.engine.get(span(map), span(key), keeper));
  }

  set(
    map: Bytes,
    key: Bytes,
    value: Bytes,
    contentType: Bytes = '',
    lifetime: Lifetime = FOREVER,
    condition: Condition = undefined,
  ): Promise<Seen> {
    const type = span(contentType);
    return this.#ask((keeper) =>
      this.engine.set(span(map), span(key), span(value), type, lifetime, condition, keeper),
    );
  }

  /** Sets an entry, without content type or lifetime, on a condition. */
  setIf(map: Bytes, key: Bytes, value: Bytes, condition: Condition): Promise<Seen> {
    return this.set(map, key, value, '', FOREVER, condition);
  }

  delete(map: Bytes, key: Bytes, condition: Condition = undefined): Promise<Seen> {
    return this.#ask((keeper) => this.engine.delete(span(map), span(key), condition, keeper));
  }

  clear(map: Bytes): Promise<Seen> {
    return this.#ask((keeper) => this.engine.clear(span(map), keeper));
  }

  size(map: Bytes): Promise<Seen> {
    return this.#ask((keeper) => this.engine.size(span(map), keeper));
  }

  offer(queue: Bytes, value: Bytes, contentType: Bytes = ''): Promise<Seen> {
    return this.#ask((keeper) =>
      this.engine.offer(span(queue), span(value), span(contentType), keeper),
    );
  }

  peek(queue: Bytes): Promise<Seen> {
    return this.#ask((keeper) => this.engine.peek(span(queue), keeper));
  }

  queueSize(queue: Bytes): Promise<Seen> {
    return this.#ask((keeper) => this.engine.queueSize(span(queue), keeper));
  }

  /** Takes an item, and acknowledges it if it is held. Returns the take's result. */
  async poll(queue: Bytes): Promise<Seen> {
    const taken = await this.take(queue);
    if (taken.hold !== NO_HOLD) await this.acknowledge(taken.hold, true);
    return taken;
  }

  /** A take that does not wait. */
  take(queue: Bytes): Promise<Seen> {
    return this.#ask((keeper) => this.engine.take(span(queue), 0, keeper));
  }

  acknowledge(hold: number, isDelivered: boolean): Promise<Seen> {
    return this.#ask((keeper) => this.engine.acknowledge(hold, isDelivered, keeper));
  }

  /** A take that may wait: returns its receiver and its ticket. */
  wait(queue: Bytes, timeoutMs: number, also?: (answer: OperationResult) => void): Waiting {
    const keeper = new Keeper(also);
    return { keeper, ticket: this.engine.take(span(queue), timeoutMs, keeper) };
  }

  async #ask(call: (keeper: Keeper) => void): Promise<Seen> {
    const keeper = new Keeper();
    call(keeper);
    return keeper.answered;
  }
}

export interface Waiting {
  readonly keeper: Keeper;
  readonly ticket: number;
}
