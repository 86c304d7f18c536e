/**
 * Seeded random calls on an embedded engine in every state: memory may be short, sinks may refuse
 * and delay results, takes wait and are cancelled, long values are pinned, receivers call the
 * engine again, time passes. The results are not checked, but the engine's invariants, that refused
 * calls change nothing, and that a replay of the records, in any order of partitions, results in
 * the same data.
 */
import assert from 'node:assert/strict';
import { Random } from '../../../bench/harness.ts';
import type { Pin } from '../../../src/base/pin.ts';
import { Span } from '../../../src/base/span.ts';
import type { EmbeddedEngine } from '../../../src/engine/embedded/embedded-engine.ts';
import {
  APPLIED,
  type EntryReceiver,
  FOREVER,
  FOUND,
  LIST_COUNT_MAX,
  LIST_START,
  LISTED,
  type NameReceiver,
  NO_HOLD,
  type OperationResult,
  VALUE_COPY_BYTES_MAX,
} from '../../../src/engine/engine.ts';
import { FROM_REPLAY, type Mutation } from '../../../src/engine/mutation.ts';
import { DISK_FULL } from '../../../src/engine/mutation-sink.ts';
import { VisitCursor } from '../../../src/engine/stored-engine.ts';
import { Version } from '../../../src/engine/version.ts';
import type { FakeClock } from '../../fake-clock.ts';
import { conditionOf, span } from '../results.ts';
import { DelayingSink, RecordingSink, RefusingSink } from '../sinks.ts';
import { contentOf } from '../stored-engine.case.ts';
import { engineOf } from './components-of.ts';

const MIB = 1_048_576;
const PINS_MAX = 5;
const DEPTH_MAX = 2;

/** Makes random calls. The invariants are asserted after every `interval` of them. */
export function strain(seed: number, steps: number, interval: number): void {
  const each = new RandomStrain(seed);
  for (let step = 0; step < steps; step++) {
    each.step();
    if (step % interval === 0) each.engine.invariants();
  }
  each.end();
  each.engine.invariants();
  each.repeat();
}

class RandomStrain implements EntryReceiver, NameReceiver {
  readonly engine: EmbeddedEngine;
  readonly #records: Mutation[] = [];
  readonly #clock: FakeClock;
  readonly #random: Random;
  readonly #refusing = new RefusingSink();
  readonly #tickets: number[] = [];
  readonly #holds: number[] = [];
  readonly #pins: Pin[] = [];
  readonly #version = new Version();
  readonly #longest: number;
  readonly #hasSinks: boolean;
  readonly #cursor = new VisitCursor();
  /** Where the last list continues. */
  #place = LIST_START.bytes;
  #depth = 0;

  /** The seed also determines partitions, memory and sinks. */
  constructor(seed: number) {
    const random = new Random(seed * 7919 + 1);
    const partitionCount = 1 + random.below(9);
    const isShort = random.below(2) === 0;
    const hasSinks = random.below(3) > 0;
    this.#hasSinks = hasSinks;
    const recording = new RecordingSink((mutation) => this.#records.push(mutation));
    this.#random = random;
    this.#longest = isShort ? 40_000 : 600_000;
    const { engine, clock } = engineOf({
      partitionCount,
      queueCapacity: () => (random.below(2) === 0 ? 20 : Number.POSITIVE_INFINITY),
      acknowledgesAll: random.below(2) === 0,
      ...(isShort ? { memoryBytesMax: (1 + partitionCount / 4) * MIB } : {}),
      sinks: hasSinks ? [recording, this.#refusing, new DelayingSink()] : [],
    });
    this.engine = engine;
    this.#clock = clock;
  }

  step(): void {
    const random = this.#random;
    if (random.below(40) > 0) this.#operate();
    else this.#refuse();
    if (random.below(3) === 0) this.#clock.settle();
    if (random.below(60) === 0) this.#clock.advance(random.below(2500));
  }

  /** Asserts that a refused call changes nothing; without sinks there is no replay either. */
  #refuse(): void {
    const before = [contentOf(this.engine), this.engine.sequences()];
    this.#refusing.veto = DISK_FULL;
    this.#operate();
    this.#refusing.veto = undefined;
    if (this.#hasSinks) assert.deepEqual([contentOf(this.engine), this.engine.sequences()], before);
  }

  /** Ends all waits, holds and pins. */
  end(): void {
    for (const pin of this.#pins.splice(0)) pin.release();
    for (const ticket of this.#tickets.splice(0)) this.engine.cancel(ticket);
    for (const hold of this.#holds.splice(0)) this.engine.acknowledge(hold, true, this);
    // Items that a sink has refused to return return now.
    this.#clock.advance(5000);
  }

  /**
   * Replays the recorded mutations into an empty engine, whose invariants are asserted meanwhile.
   * The first replay is interrupted, after which the engine is reset.
   */
  repeat(): void {
    const { partitionCount } = this.engine;
    const { engine: copy } = engineOf({ partitionCount, clock: this.#clock });
    const records = this.#shuffled();
    const make = (some: readonly Mutation[]) => {
      const replay = copy.replay();
      some.forEach((record, index) => {
        record.origin = FROM_REPLAY;
        assert.equal(replay.apply(record), APPLIED);
        if (index % 397 === 0) copy.invariants();
      });
      return replay;
    };
    make(records.slice(0, records.length >> 1));
    copy.reset();
    make(records).end();
    copy.invariants();
    if (!this.#hasSinks) return;
    assert.deepEqual(copy.sequences(), this.engine.sequences());
    assert.deepEqual(contentOf(copy), contentOf(this.engine));
  }

  /** Returns the records: those of a partition in order, all of one partition after the others. */
  #shuffled(): Mutation[] {
    const partitions = [...new Set(this.#records.map(({ partition }) => partition))];
    const [last = [], ...others] = partitions.map((one) =>
      this.#records.filter(({ partition }) => partition === one),
    );
    const shuffled: Mutation[] = [];
    while (others.length > 0) {
      const index = this.#random.below(others.length);
      const queue = others[index]!;
      shuffled.push(...queue.splice(0, 1 + this.#random.below(queue.length)));
      if (queue.length === 0) others.splice(index, 1);
    }
    return [...shuffled, ...last];
  }

  onEntry(_key: Span, entry: OperationResult): void {
    if (this.#random.below(10) === 0) this.#onFound(entry);
  }

  onName(): void {
    if (this.#random.below(10) === 0) this.#operateDeeper();
  }

  onResult(answer: OperationResult): void {
    const { outcome, place } = answer;
    if (outcome === LISTED) this.#place = place.length > 0 ? place.toBuffer() : LIST_START.bytes;
    this.#onFound(answer);
  }

  #onFound(answer: OperationResult): void {
    const random = this.#random;
    this.#version.copyFrom(answer.version);
    if (answer.hold !== NO_HOLD) this.#holds.push(answer.hold);
    const isLong = answer.outcome === FOUND && answer.value.length > VALUE_COPY_BYTES_MAX;
    if (isLong && this.#pins.length < PINS_MAX) this.#pins.push(answer.pin());
    if (random.below(4) === 0) this.#operateDeeper();
  }

  #operateDeeper(): void {
    if (this.#depth === DEPTH_MAX) return;
    this.#depth++;
    this.#operate();
    this.#depth--;
  }

  #operate(): void {
    const random = this.#random;
    const choice = random.below(100);
    if (choice < 55) this.#operateOnMap(choice);
    else if (choice < 85) this.#operateOnQueue(choice);
    else if (choice < 90) this.#drop(this.#tickets, (ticket) => this.engine.cancel(ticket));
    else if (choice < 97) {
      const isDelivered = random.below(2) === 0;
      this.#drop(this.#holds, (hold) => this.engine.acknowledge(hold, isDelivered, this));
    } else if (choice < 98) this.#visit();
    else this.#drop(this.#pins, (pin) => pin.release());
  }

  #operateOnMap(choice: number): void {
    const { engine } = this;
    const random = this.#random;
    const map = span(`map ${random.below(4)}`);
    const key = span(`${random.below(300)}`.padEnd(random.below(40), '.'));
    const condition = random.below(10) === 0 ? conditionOf(this.#version) : undefined;
    if (choice < 38) {
      const timeToLiveMs = random.below(3) === 0 ? 1 + random.below(4000) : 0;
      const maxIdleSeconds = random.below(6) === 0 ? 1 + random.below(3) : 0;
      const mayGo = timeToLiveMs + maxIdleSeconds > 0;
      const lifetime = mayGo ? { timeToLiveMs, maxIdleSeconds } : FOREVER;
      engine.set(map, key, this.#value(), this.#type(), lifetime, condition, this);
    } else if (choice < 44) engine.get(map, key, this);
    else if (choice < 50) engine.delete(map, key, condition, this);
    else if (choice < 52) engine.add(map, key, BigInt(random.below(100)), FOREVER, this);
    else if (choice < 53) this.#list(map);
    else if (random.below(8) === 0) engine.clear(map, this);
    else engine.size(map, this);
  }

  /** Makes a call of a list, which continues the last one, even if that was another one. */
  #list(map: Span): void {
    const { engine } = this;
    const random = this.#random;
    const place = Span.of(this.#place);
    const prefix = span(random.below(2) === 0 ? '' : `${random.below(10)}`);
    const count = 1 + random.below(random.below(2) === 0 ? 5 : LIST_COUNT_MAX);
    if (random.below(3) > 0) engine.entries(map, prefix, place, count, this);
    else engine.names(random.below(2) === 0 ? 'map' : 'queue', span(''), place, count, this);
  }

  #operateOnQueue(choice: number): void {
    const { engine } = this;
    const random = this.#random;
    const queue = span(`queue ${random.below(6)}`);
    if (choice < 57) {
      // A long queue, whose ring is a list of parts.
      const value = span('value');
      for (let rest = random.below(300); rest > 0; rest--) {
        engine.offer(span('queue 0'), value, this.#type(), this);
      }
    } else if (choice < 59) {
      for (let rest = random.below(300); rest > 0; rest--) engine.take(span('queue 0'), 0, this);
    } else if (choice < 70) engine.offer(queue, this.#value(), this.#type(), this);
    else if (choice < 83) {
      const ticket = engine.take(queue, random.below(2) * (1 + random.below(5000)), this);
      if (ticket !== 0) this.#tickets.push(ticket);
    } else if (choice < 84) engine.peek(queue, this);
    else engine.queueSize(queue, this);
  }

  #visit(): void {
    const { engine } = this;
    const partition = this.#random.below(engine.partitionCount);
    engine.visit(partition, this.#cursor, 20, { onStored: () => {} });
  }

  #drop<Thing>(things: Thing[], use: (thing: Thing) => void): void {
    if (things.length === 0) return;
    const [thing] = things.splice(this.#random.below(things.length), 1);
    use(thing as Thing);
  }

  #value() {
    const random = this.#random;
    const kind = random.below(60);
    if (kind === 0) return span(Buffer.alloc(random.below(this.#longest)));
    return span(Buffer.alloc(random.below(kind < 10 ? 3000 : 100)));
  }

  #type() {
    return span(this.#random.below(3) === 0 ? `type/${this.#random.below(9)}` : '');
  }
}
