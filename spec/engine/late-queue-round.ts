/**
 * One seeded round of queues on an engine whose results arrive later: offers, takes with and
 * without a timeout, cancels at every moment, holds that are acknowledged in any order, a sink that
 * refuses for a while, sometimes the close. In all cases an item must be delivered to at most one
 * take, none may be lost, and at the end nothing may be open.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import {
  ABSENT,
  APPLIED,
  CLOSED,
  FOUND,
  LOST,
  type OperationResult,
  QUEUE_FULL,
  REFUSED,
  UNKNOWN,
  UNREACHABLE,
  VALUE_COPY_BYTES_MAX,
} from '../../src/engine/engine.ts';
import { type Mutation, OFFER, REMOVE } from '../../src/engine/mutation.ts';
import { ADMITTED, DISK_FULL, type MutationSink } from '../../src/engine/mutation-sink.ts';
import { FakeClock } from '../fake-clock.ts';
import { AtOnce } from './embedded/at-once.ts';
import { LateEngine, type LateEngineOptions } from './late-engine.ts';
import { SPOILT } from './late-result.ts';
import { copied, span } from './results.ts';
import { RefusingSink } from './sinks.ts';
import { subjectCapacity } from './subject.ts';

const PARTITION_COUNT = 5;
const STEPS = 40;
const QUEUES = ['a', 'b', 'small c'];
const TIMEOUT_MS_MAX = 100;
/** Maximum number of consecutive turns that end. */
const TURNS_MAX = 8;
/** Number of rounds for each engine; the last one closes it. */
const ROUNDS_PER_WORLD = 25;

/** The wrapped engine, whose results arrive at once, and its last record of each item. */
class QueueWorld implements MutationSink {
  readonly clock = new FakeClock();
  readonly refusing = new RefusingSink();
  /** The last recorded operation of an item, by its text. */
  readonly records = new Map<string, number>();
  readonly #texts = new Map<string, string>();
  readonly inside = new EmbeddedEngine({
    partitionCount: PARTITION_COUNT,
    clock: this.clock,
    queueCapacity: subjectCapacity,
    sinks: [this, this.refusing],
    acknowledgesAll: true,
    hashSeed: Buffer.alloc(8),
  });

  admit(): typeof ADMITTED {
    return ADMITTED;
  }

  abandon(): void {}

  record({ operation, name, item, value }: Mutation): void {
    const place = `${name.toBuffer()}/${item}`;
    if (operation === OFFER) this.#texts.set(place, textOf(value.toBuffer()));
    this.records.set(this.#texts.get(place)!, operation);
  }

  durable(): number {
    return Number.POSITIVE_INFINITY;
  }
}

export interface QueueRoundOptions extends Pick<LateEngineOptions, 'isOrdered' | 'turns'> {
  /** See LateEngineOptions. */
  readonly unknownPerMille?: number;
  readonly disconnectedPerMille?: number;
}

/** Counts of a round's events, which show that the rounds reach every case. */
export interface QueueReport {
  delivered: number;
  returned: number;
  cancelled: number;
  refused: number;
  unknown: number;
}

/** Runs rounds from this seed on; one round in each world, the last, closes the engine. */
export async function lateQueueRounds(
  first: number,
  count: number,
  options: QueueRoundOptions,
): Promise<QueueReport> {
  const sum = { delivered: 0, returned: 0, cancelled: 0, refused: 0, unknown: 0 };
  let world = new QueueWorld();
  for (let seed = first; seed < first + count; seed++) {
    const isClosing = seed % ROUNDS_PER_WORLD === 0;
    const round = new Round(world, seed, isClosing, options);
    await round.run().catch((error: unknown) => {
      throw new Error(`Seed ${seed} failed: ${error}`, { cause: error });
    });
    for (const key of Object.keys(sum) as (keyof QueueReport)[]) sum[key] += round.report[key];
    if (isClosing) world = new QueueWorld();
  }
  return sum;
}

/** A take that has no result yet, as far as its caller knows. */
interface Waiting {
  readonly ticket: number;
  isAnswered: boolean;
}

interface Given {
  readonly text: string;
  readonly hold: number;
}

class Round {
  readonly report = { delivered: 0, returned: 0, cancelled: 0, refused: 0, unknown: 0 };
  readonly #world: QueueWorld;
  readonly #seed: number;
  readonly #isClosing: boolean;
  readonly #random: Random;
  readonly #engine: LateEngine;
  /** Results that are still to arrive; for takes, only those that are not cancelled. */
  #expected = 0;
  #next = 0;
  readonly #waiting: Waiting[] = [];
  /** Items by text: certainly offered; perhaps offered; taken; delivered; perhaps not returned. */
  readonly #offered = new Set<string>();
  readonly #perhaps = new Set<string>();
  readonly #given = new Map<string, Given>();
  readonly #delivered = new Set<string>();
  readonly #perhapsLost = new Set<string>();
  /** Buffers that results referred to. */
  readonly #named: Buffer[] = [];
  #closing: Promise<void> | undefined;

  /**
   * `isClosing`: the engine is closed before the end, after which the world cannot be used again.
   */
  constructor(world: QueueWorld, seed: number, isClosing: boolean, options: QueueRoundOptions) {
    const { clock, inside } = world;
    this.#world = world;
    this.#seed = seed;
    this.#isClosing = isClosing;
    this.#random = new Random(seed * 2654435761 + 1);
    this.#engine = new LateEngine(inside, {
      clock,
      random: new Random(seed * 40503 + 7),
      partitionCount: PARTITION_COUNT,
      ...options,
    });
  }

  async run(): Promise<void> {
    await this.#engine.open();
    const closesAt = this.#isClosing ? this.#random.below(STEPS) : -1;
    for (let step = 0; step < STEPS; step++) {
      if (step === closesAt) this.#close();
      this.#step(this.#random.below(100));
    }
    this.#world.refusing.veto = undefined;
    if (this.#closing === undefined) this.#finish();
    else {
      this.#settle();
      await this.#closing;
    }
    this.#check();
    this.#world.inside.invariants();
  }

  #step(choice: number): void {
    const { clock, refusing } = this.#world;
    const queue = this.#queue();
    if (choice < 30) this.#offer(queue);
    else if (choice < 42) this.#take(queue, 0);
    else if (choice < 60) this.#take(queue, 1 + this.#random.below(TIMEOUT_MS_MAX));
    else if (choice < 70) this.#cancel();
    else if (choice < 85) this.#acknowledge();
    else if (choice < 95) this.#endTurns(1 + this.#random.below(TURNS_MAX));
    else if (choice < 98) clock.advance(this.#random.below(TIMEOUT_MS_MAX));
    // An item that cannot return before the close is lost.
    else if (!this.#isClosing) {
      refusing.veto = refusing.veto === undefined ? DISK_FULL : undefined;
    }
  }

  #endTurns(count: number): void {
    for (let turn = 0; turn < count; turn++) this.#world.clock.endTurn();
  }

  #offer(queue: string): void {
    const text = `${this.#seed}.${this.#next++}.`;
    // An item long enough to be pinned is slow, so it is rare.
    const isLong = this.#random.below(500) === 0;
    const value = isLong ? text.padEnd(VALUE_COPY_BYTES_MAX + 1, 'x') : text;
    this.#expected++;
    const onResult = ({ outcome, reason }: OperationResult) => {
      this.#expected--;
      if (outcome === APPLIED) this.#offered.add(text);
      else if (outcome === UNKNOWN) this.#perhaps.add(text);
      else if (outcome === UNREACHABLE) this.#checkReason(reason);
      else assert.ok(outcome === QUEUE_FULL || outcome === REFUSED);
    };
    this.#engine.offer(span(queue), span(value), span('a/type'), { onResult });
  }

  #take(queue: string, timeoutMs: number): void {
    const waiting = { ticket: 0, isAnswered: false };
    this.#expected++;
    const onResult = (answer: OperationResult) => {
      assert.equal(waiting.isAnswered, false);
      waiting.isAnswered = true;
      this.#expected--;
      this.#onTaken(answer);
    };
    waiting.ticket = this.#engine.take(span(queue), timeoutMs, { onResult });
    this.#waiting.push(waiting);
  }

  #onTaken(answer: OperationResult): void {
    const { outcome, value, hold, reason } = answer;
    if (outcome === REFUSED) this.report.refused++;
    if (outcome === UNKNOWN) this.report.unknown++;
    if (outcome === UNREACHABLE) this.#checkReason(reason);
    if (outcome !== FOUND) {
      assert.ok([ABSENT, REFUSED, UNKNOWN, UNREACHABLE].includes(outcome));
      return;
    }
    const text = textOf(value.toBuffer());
    assert.equal(copied(answer).contentType, 'a/type');
    assert.ok(!this.#given.has(text) && !this.#delivered.has(text), `${text} was taken twice`);
    this.#given.set(text, { text, hold });
    if (value.length > VALUE_COPY_BYTES_MAX) {
      const pin = answer.pin();
      const bytes = value.bytes.subarray(value.start, value.end);
      this.#world.clock.endOfTurn(() => {
        assert.equal(textOf(bytes), text);
        pin.release();
        assert.equal(bytes[0], SPOILT);
      });
    } else this.#named.push(value.bytes.subarray(value.start, value.end));
    if (this.#random.below(5) === 0) this.#end(text, this.#random.below(2) === 0);
  }

  #cancel(): void {
    if (this.#waiting.length === 0) return;
    const [waiting] = this.#waiting.splice(this.#random.below(this.#waiting.length), 1);
    this.#engine.cancel(waiting!.ticket);
    if (waiting!.isAnswered) return;
    waiting!.isAnswered = true;
    this.#expected--;
    this.report.cancelled++;
  }

  #acknowledge(): void {
    const texts = [...this.#given.keys()];
    if (texts.length === 0) return;
    this.#end(texts[this.#random.below(texts.length)]!, this.#random.below(2) === 0);
  }

  #end(text: string, isDelivered: boolean): void {
    const { hold } = this.#given.get(text)!;
    const isClosed = this.#closing !== undefined;
    if (!isClosed) {
      this.#given.delete(text);
      if (isDelivered) this.#delivered.add(text);
    }
    const count = this.#random.below(20) === 0 ? 2 : 1;
    for (let call = 0; call < count; call++) {
      this.#expected++;
      const onResult = ({ outcome, reason }: OperationResult) => {
        this.#expected--;
        if (isClosed) {
          assert.equal(outcome, UNREACHABLE);
          return this.#checkReason(reason);
        }
        if (outcome === UNKNOWN) this.#perhapsLost.add(text);
        else if (this.#closing === undefined || outcome !== UNREACHABLE) {
          assert.equal(outcome, call === 0 || this.#perhapsLost.has(text) ? outcome : LOST);
          if (call === 0) assert.equal(outcome, APPLIED);
        } else this.#perhapsLost.add(text);
        if (call === 0 && outcome === APPLIED)
          this.report[isDelivered ? 'delivered' : 'returned']++;
      };
      this.#engine.acknowledge(hold, isDelivered, { onResult });
    }
  }

  #checkReason(reason: number): void {
    if (this.#closing === undefined) assert.notEqual(reason, CLOSED);
  }

  #close(): void {
    this.#closing = this.#engine.close();
    assert.equal(this.#engine.isReachable, false);
    for (const { isAnswered } of this.#waiting)
      assert.ok(isAnswered, 'a take has no result after close');
    this.#waiting.length = 0;
  }

  /** Ends everything that is open while operations are in progress. */
  #finish(): void {
    while (this.#waiting.length > 0) {
      if (this.#random.below(2) === 0) this.#cancel();
      else this.#waiting.pop();
    }
    do {
      while (this.#given.size > 0) this.#acknowledge();
      this.#settle();
      // Takes time out, and items whose return a sink has refused return.
      this.#world.clock.advance(2000);
      this.#settle();
    } while (this.#given.size > 0);
  }

  #settle(): void {
    this.#world.clock.settle();
    assert.equal(this.#engine.isBusy, false);
  }

  #check(): void {
    const { inside, records } = this.#world;
    const { operationCount, ticketCount, holdCount, pinCount } = this.#engine;
    assert.deepEqual(
      [this.#expected, operationCount, ticketCount, holdCount, pinCount],
      NOTHING_OPEN,
    );
    assert.equal(inside.holdCount, 0);
    for (const bytes of this.#named) assert.ok(bytes.every((byte) => byte === SPOILT));
    const left = new Set<string>();
    if (this.#closing === undefined) for (const queue of QUEUES) this.#drain(queue, left);
    else {
      for (const [text, operation] of records) {
        if (text.startsWith(`${this.#seed}.`) && operation !== REMOVE) left.add(text);
      }
    }
    for (const text of left) {
      assert.ok(this.#offered.has(text) || this.#perhaps.has(text));
      assert.ok(!this.#delivered.has(text), `${text} was delivered, but is still in the queue`);
    }
    for (const text of this.#offered) {
      const isSomewhere = left.has(text) || this.#delivered.has(text) || this.#given.has(text);
      assert.ok(isSomewhere || this.#perhapsLost.has(text), `${text} is lost`);
    }
  }

  /** Takes the rest of the queue: in the order offered, including returned items. */
  #drain(queue: string, left: Set<string>): void {
    const ask = new AtOnce(this.#world.inside);
    let last = -1;
    for (let taken = ask.poll(queue); taken.outcome === FOUND; taken = ask.poll(queue)) {
      const text = textOf(Buffer.from(taken.value));
      const number = Number(text.split('.')[1]);
      assert.ok(number > last, `${text} is out of order`);
      last = number;
      left.add(text);
    }
    assert.equal(ask.queueSize(queue), 0);
  }

  #queue(): string {
    return QUEUES[this.#random.below(QUEUES.length)]!;
  }
}

const NOTHING_OPEN = [0, 0, 0, 0, 0];

/** Returns the text of an item without its padding. */
function textOf(value: Buffer): string {
  return value.toString('latin1', 0, 20).replace(/x+$/, '');
}
