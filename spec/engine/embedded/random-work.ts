/**
 * Seeded random work on an engine with sinks whose results arrive during the call: every kind of
 * operation, with vetoes in between. A model contains the data that must be stored; `onRecord`
 * receives the records.
 */
import assert from 'node:assert/strict';
import { Random } from '../../../bench/harness.ts';
import { EmbeddedEngine } from '../../../src/engine/embedded/embedded-engine.ts';
import {
  ABSENT,
  APPLIED,
  CONDITION_FAILED,
  FOREVER,
  FOUND,
  NO_HOLD,
  REFUSED,
} from '../../../src/engine/engine.ts';
import type { Mutation } from '../../../src/engine/mutation.ts';
import { DISK_FULL } from '../../../src/engine/mutation-sink.ts';
import { Version } from '../../../src/engine/version.ts';
import { FakeClock } from '../../fake-clock.ts';
import type { Seen } from '../results.ts';
import { DelayingSink, RecordingSink, RefusingSink } from '../sinks.ts';
import { AtOnce } from './at-once.ts';

const MAPS = ['a', 'b', 'c', 'often cleared', 'short'];
const KEYS = 2000;
const QUEUES = 12;
const QUEUE_ITEMS_MAX = 300;
const HOLDS_MAX = 50;

interface Entry {
  readonly value: string;
  readonly expiryMs: number;
  readonly version: Version;
}

interface Item {
  readonly number: number;
  readonly value: string;
}

interface Held {
  readonly hold: number;
  readonly queue: string;
  readonly item: Item;
}

export class RandomWork {
  readonly clock = new FakeClock();
  readonly engine: EmbeddedEngine;
  readonly holding = new DelayingSink();
  readonly #refusing = new RefusingSink();
  readonly #ask: AtOnce;
  readonly #random: Random;
  readonly #maps = new Map(MAPS.map((name) => [name, new Map<string, Entry>()]));
  readonly #queues = new Map<string, Item[]>();
  readonly #holds: Held[] = [];
  #step = 0;
  refusedCount = 0;

  constructor(seed: number, partitionCount: number, onRecord: (mutation: Mutation) => void) {
    this.#random = new Random(seed);
    this.engine = new EmbeddedEngine({
      partitionCount,
      clock: this.clock,
      queueCapacity: () => Number.POSITIVE_INFINITY,
      hashSeed: Buffer.from('12345678'),
      acknowledgesAll: true,
      sinks: [new RecordingSink(onRecord), this.#refusing, this.holding],
    });
    this.#ask = new AtOnce(this.engine);
  }

  /** Runs one operation, which is refused with a probability of 1/50. */
  step(): void {
    this.#step++;
    const isRefused = this.#random.below(50) === 0;
    this.#refusing.veto = isRefused ? DISK_FULL : undefined;
    const before = isRefused ? this.engine.sequences() : undefined;
    this.#operate(this.#random.below(1000));
    if (before !== undefined) assert.deepEqual(this.engine.sequences(), before);
    this.#refusing.veto = undefined;
    if (this.#random.below(100) === 0) this.clock.advance(this.#random.below(200));
  }

  /** Asserts that all data matches the model, after all held items have returned. */
  check(): void {
    this.engine.invariants();
    while (this.#holds.length > 0) this.#acknowledge(false);
    for (const [name, map] of this.#maps) {
      for (const key of [...map.keys()]) this.#expectEntry(name, key);
      assert.equal(this.#ask.size(name), map.size);
    }
    for (const [name, items] of this.#queues) {
      assert.equal(this.#ask.queueSize(name), items.length);
    }
  }

  #operate(choice: number): void {
    const map = MAPS[this.#random.below(MAPS.length)]!;
    const key = `k${this.#random.below(KEYS)}`;
    const queue = `q${this.#random.below(QUEUES)}`;
    if (choice < 350) this.#set(map, key);
    else if (choice < 400) this.#changeIf(map, key);
    else if (choice < 550) this.#delete(map, key);
    else if (choice < 600) this.#expectEntry(map, key);
    else if (choice < 601) this.#clear(map);
    else if (choice < 605) this.#clear('often cleared');
    else if (choice < 790) this.#offer(queue);
    else if (choice < 950) this.#poll(queue);
    else if (choice < 975) this.#take(queue);
    else this.#acknowledge(this.#refusing.veto !== undefined || this.#random.below(2) === 0);
  }

  #set(map: string, key: string): void {
    const value = this.#value();
    const timeToLiveMs = map === 'short' ? 1 + this.#random.below(3000) : 0;
    const lifetime = timeToLiveMs === 0 ? FOREVER : { timeToLiveMs, maxIdleSeconds: 0 };
    const type = this.#random.below(3) === 0 ? `type/${this.#random.below(40)}` : '';
    const answer = this.#ask.set(map, key, value, type, lifetime);
    if (this.#isRefused(answer)) return;
    const expiryMs = timeToLiveMs === 0 ? Infinity : this.clock.wall() + timeToLiveMs;
    const { version } = answer;
    this.#maps.get(map)!.set(key, { value: value.toString('latin1'), expiryMs, version });
  }

  /** Sets or deletes on condition of the current version, of none, or of a former one. */
  #changeIf(name: string, key: string): void {
    const map = this.#maps.get(name)!;
    const entry = map.get(key);
    if (entry !== undefined && entry.expiryMs <= this.clock.wall()) map.delete(key);
    const present = map.get(key)?.version ?? new Version();
    const condition = [present, new Version(), entry?.version ?? present][this.#random.below(3)]!;
    const isMet = present.low === condition.low && present.high === condition.high;
    const value = this.#value();
    const isSet = this.#random.below(2) === 0;
    const answer = isSet
      ? this.#ask.set(name, key, value, '', FOREVER, condition)
      : this.#ask.delete(name, key, condition);
    if (!isMet) {
      assert.equal(answer.outcome, CONDITION_FAILED);
      assert.deepEqual(answer.version, present);
      return;
    }
    if (this.#isRefused(answer)) return;
    const { version } = answer;
    if (!isSet) map.delete(key);
    else map.set(key, { value: value.toString('latin1'), expiryMs: Infinity, version });
  }

  #delete(map: string, key: string): void {
    if (!this.#isRefused(this.#ask.delete(map, key))) this.#maps.get(map)!.delete(key);
  }

  #expectEntry(name: string, key: string): void {
    const map = this.#maps.get(name)!;
    const entry = map.get(key);
    const answer = this.#ask.get(name, key);
    if (entry !== undefined && entry.expiryMs <= this.clock.wall()) map.delete(key);
    const expected = map.get(key);
    assert.equal(answer.outcome, expected === undefined ? ABSENT : FOUND, `${name}/${key}`);
    if (expected !== undefined) assert.ok(answer.value === expected.value, `${name}/${key}`);
  }

  #clear(map: string): void {
    if (!this.#isRefused(this.#ask.clear(map))) this.#maps.get(map)!.clear();
  }

  #offer(queue: string): void {
    const items = this.#items(queue);
    if (items.length >= QUEUE_ITEMS_MAX) return this.#poll(queue);
    const value = this.#value();
    if (this.#isRefused(this.#ask.offer(queue, value, 'an/item'))) return;
    items.push({ number: this.#step, value: value.toString('latin1') });
  }

  #poll(queue: string): void {
    const [item] = this.#items(queue);
    const answer = this.#ask.poll(queue);
    if (this.#isRefused(answer)) return;
    assert.equal(answer.value, item?.value ?? '');
    this.#items(queue).shift();
  }

  #take(queue: string): void {
    if (this.#holds.length >= HOLDS_MAX) return this.#acknowledge(true);
    const [item] = this.#items(queue);
    const answer = this.#ask.take(queue);
    if (this.#isRefused(answer)) return;
    assert.equal(answer.outcome, item === undefined ? ABSENT : FOUND);
    assert.equal(answer.hold !== NO_HOLD, item !== undefined);
    if (item === undefined) return;
    this.#items(queue).shift();
    this.#holds.push({ hold: answer.hold, queue, item });
  }

  #acknowledge(isDelivered: boolean): void {
    if (this.#holds.length === 0) return;
    const [held] = this.#holds.splice(this.#random.below(this.#holds.length), 1);
    const { hold, queue, item } = held!;
    assert.equal(this.#ask.acknowledge(hold, isDelivered).outcome, APPLIED);
    if (isDelivered) return;
    const items = this.#items(queue);
    const next = items.findIndex(({ number }) => number > item.number);
    items.splice(next < 0 ? items.length : next, 0, item);
  }

  #items(queue: string): Item[] {
    const items = this.#queues.get(queue) ?? [];
    this.#queues.set(queue, items);
    return items;
  }

  #isRefused(answer: Seen): boolean {
    if (answer.outcome !== REFUSED) {
      assert.ok(
        answer.outcome === APPLIED ||
          this.#refusing.veto === undefined ||
          answer.outcome === ABSENT,
      );
      return false;
    }
    assert.equal(answer.veto, this.#refusing.veto);
    this.refusedCount++;
    return true;
  }

  #value(): Buffer {
    const length =
      this.#random.below(100) === 0 ? this.#random.below(30_000) : this.#random.below(120);
    return Buffer.alloc(length, `${this.#step}.`);
  }
}

/**
 * Shuffles records: within a partition they stay in order, between partitions the order is random,
 * and one partition is passed on only after all others.
 */
export class Shuffle {
  readonly #random: Random;
  readonly #last: number;
  readonly #waiting = new Map<number, Mutation[]>();

  constructor(seed: number, last: number) {
    this.#random = new Random(seed);
    this.#last = last;
  }

  add(mutation: Mutation): void {
    const { partition } = mutation;
    const queue = this.#waiting.get(partition);
    if (queue === undefined) this.#waiting.set(partition, [mutation]);
    else queue.push(mutation);
  }

  /** Passes on waiting records of some partitions. */
  some(give: (mutation: Mutation) => void): void {
    for (const [partition, queue] of this.#waiting) {
      if (partition === this.#last || this.#random.below(4) !== 0) continue;
      queue.splice(0, 1 + this.#random.below(queue.length)).forEach(give);
    }
  }

  rest(give: (mutation: Mutation) => void): void {
    for (const [partition, queue] of this.#waiting)
      if (partition !== this.#last) queue.forEach(give);
    this.#waiting.get(this.#last)?.forEach(give);
    this.#waiting.clear();
  }
}
