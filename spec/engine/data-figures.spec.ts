/** Covers src/engine/data-figures.ts. The counts of an engine, compared with a model. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import type { DataFigures, StoredNames } from '../../src/engine/data-figures.ts';
import {
  ABSENT,
  APPLIED,
  FOUND,
  NO_HOLD,
  NO_TICKET,
  type OperationResult,
} from '../../src/engine/engine.ts';
import { LATEST_UPDATE } from '../../src/engine/merge-policy.ts';
import { CLEAR } from '../../src/engine/mutation.ts';
import { Version } from '../../src/engine/version.ts';
import type { FakeClock } from '../fake-clock.ts';
import { changeOf, merged, replayInto } from './changes.ts';
import type { AtOnce } from './embedded/at-once.ts';
import { engineOf } from './embedded/components-of.ts';
import { span } from './results.ts';
import { DelayingSink, RecordingSink } from './sinks.ts';
import { SMALL_CAPACITY, subjectCapacity } from './subject.ts';

const STEPS = 4000;
const HOUR_MS = 3_600_000;

/** Returns the names, in the order of their ids. */
function namesOf(names: StoredNames): string[] {
  const found: string[] = [];
  const name = span('');
  for (let id = names.next(0); id !== 0; id = names.next(id)) {
    names.name(id, name);
    if (name.length > 0) found.push(name.toBuffer().toString());
  }
  return found;
}

/** Returns the number of entries by map. */
function entriesOf(engine: DataFigures): Record<string, number> {
  const { maps } = engine;
  return Object.fromEntries(
    namesOf(maps).map((name) => [name, engine.entriesOf(maps.find(span(name)))]),
  );
}

/** Returns the items, held items and waiters by queue. */
function queuesOf(engine: DataFigures): Record<string, readonly number[]> {
  const { queues } = engine;
  return Object.fromEntries(
    namesOf(queues).map((name) => {
      const id = queues.find(span(name));
      return [name, [engine.itemsOf(id), engine.heldItemsOf(id), engine.waitersOf(id)]];
    }),
  );
}

interface QueueModel {
  items: number;
  held: number;
  waiters: number;
}

type Engine = ReturnType<typeof engineOf>;

/** Random operations on an engine, whose results change the model. It has no reserved map. */
class Model {
  readonly #random: Random;
  readonly #engine: Engine['engine'];
  readonly #ask: AtOnce;
  readonly #clock: FakeClock;
  readonly #maps = new Map<string, Set<string>>();
  readonly #queues = new Map<string, QueueModel>();
  /** Queues by hold, and of the takes that wait by ticket. */
  readonly #holds = new Map<number, QueueModel>();
  readonly #waiting = new Map<number, QueueModel>();

  constructor(seed: number, { engine, ask, clock }: Engine) {
    this.#random = new Random(seed);
    this.#engine = engine;
    this.#ask = ask;
    this.#clock = clock;
  }

  step(): void {
    const choice = this.#random.below(100);
    if (choice < 50) this.#stepOfMap(choice);
    else this.#stepOfQueue(choice);
    if (this.#random.below(3) === 0) this.#clock.settle();
    if (this.#random.below(20) === 0) this.#clock.advance(this.#random.below(500));
  }

  check(): void {
    const engine = this.#engine;
    assert.equal(this.#ask.size('').count, this.#maps.get('')?.size ?? 0);
    assert.equal(engine.maps.find(span('')), 0);
    const maps = [...this.#maps].filter(([name, keys]) => name !== '' && keys.size > 0);
    const sizes = maps.map(([name, { size }]) => [name, size] as const);
    assert.deepEqual(entriesOf(engine), Object.fromEntries(sizes));
    assert.equal(engine.maps.count, maps.length);
    assert.equal(engine.entryCount, sumOf(sizes.map(([, size]) => size)));
    const queues = [...this.#queues].filter(([, each]) => sumOf(Object.values(each)) > 0);
    const counts = queues.map(([name, each]) => [name, Object.values(each)] as const);
    assert.deepEqual(queuesOf(engine), Object.fromEntries(counts));
    assert.equal(engine.queues.count, queues.length);
    assert.equal(engine.itemCount, sumOf(queues.map(([, { items }]) => items)));
    assert.equal(engine.expiredEntryCount, 0);
  }

  #stepOfMap(choice: number): void {
    const number = this.#random.below(7);
    const name = number === 0 ? '' : `m${number}`;
    const key = `k${this.#random.below(20)}`;
    const keys = this.#maps.get(name) ?? new Set();
    this.#maps.set(name, keys);
    if (choice < 30) {
      this.#ask.set(name, key, 'v', choice < 15 ? 'a/b' : '');
      keys.add(key);
    } else if (choice < 47) {
      this.#ask.delete(name, key);
      keys.delete(key);
    } else {
      this.#ask.clear(name);
      keys.clear();
    }
  }

  #stepOfQueue(choice: number): void {
    const name = `${this.#random.below(4) === 0 ? 'small' : 'q'}${this.#random.below(6)}`;
    const queue = this.#queues.get(name) ?? { items: 0, held: 0, waiters: 0 };
    this.#queues.set(name, queue);
    if (choice < 70) {
      if (this.#ask.offer(name, 'item').outcome === APPLIED) queue.items++;
    } else if (choice < 80) this.#take(name, queue, 0);
    else if (choice < 85) this.#take(name, queue, 1 + this.#random.below(2000));
    else if (choice < 88) this.#cancel();
    else this.#acknowledge();
  }

  #take(name: string, queue: QueueModel, timeoutMs: number): void {
    let ticket = NO_TICKET;
    const onResult = ({ outcome, hold }: OperationResult) => {
      if (this.#waiting.delete(ticket)) queue.waiters--;
      if (outcome === ABSENT) return;
      assert.equal(outcome, FOUND);
      queue.items--;
      if (hold === NO_HOLD) return;
      queue.held++;
      this.#holds.set(hold, queue);
    };
    ticket = this.#engine.take(span(name), timeoutMs, { onResult });
    if (ticket === NO_TICKET) return;
    queue.waiters++;
    this.#waiting.set(ticket, queue);
  }

  #cancel(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [ticket, queue] = first;
    this.#engine.cancel(ticket);
    this.#waiting.delete(ticket);
    queue.waiters--;
  }

  #acknowledge(): void {
    const [first] = this.#holds;
    if (first === undefined) return;
    const [hold, queue] = first;
    const isDelivered = this.#random.below(2) === 0;
    assert.equal(this.#ask.acknowledge(hold, isDelivered).outcome, APPLIED);
    this.#holds.delete(hold);
    queue.held--;
    if (!isDelivered) queue.items++;
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

describe('DataFigures', () => {
  for (const [kind, options] of [
    ['without sinks', {}],
    ['whose takes are held', { acknowledgesAll: true }],
    ['whose results wait', { sinks: [new RecordingSink(() => {}), new DelayingSink(0)] }],
  ] as const) {
    it(`an engine ${kind} has the counts of a model after ${STEPS} random operations`, async () => {
      const made = engineOf({ queueCapacity: subjectCapacity, ...options });
      const model = new Model(61, made);
      for (let step = 0; step < STEPS; step++) {
        model.step();
        model.check();
      }
      await made.engine.close();
    });
  }

  it('an entry whose time is over counts until it is removed, then as expired', async () => {
    const { engine, ask, clock } = engineOf();
    const lifetime = { timeToLiveMs: 1000, maxIdleSeconds: 0 };
    for (const key of ['a', 'b']) ask.set('m', key, 'v', '', lifetime);
    ask.set('m', 'c', 'v', '', { timeToLiveMs: 0, maxIdleSeconds: 1 });
    ask.set('m', 'd', 'v');
    ask.set('n', 'a', 'v', '', lifetime);
    clock.setWall(clock.wall() + 2500);
    assert.deepEqual(entriesOf(engine), { m: 4, n: 1 });
    assert.deepEqual([engine.entryCount, engine.expiredEntryCount], [5, 0]);
    assert.equal(ask.get('m', 'a').outcome, ABSENT);
    assert.deepEqual(entriesOf(engine), { m: 3, n: 1 });
    assert.deepEqual([engine.entryCount, engine.expiredEntryCount], [4, 1]);
    assert.equal(ask.size('m').count, 1);
    assert.deepEqual(entriesOf(engine), { m: 1 });
    assert.deepEqual([engine.maps.count, engine.expiredEntryCount], [1, 4]);
    clock.advance(HOUR_MS);
    assert.deepEqual([engine.entryCount, engine.expiredEntryCount], [1, 4]);
    await engine.close();
  });

  it('entries of the reserved map do not count, nor when they expire', async () => {
    const { engine, ask, clock } = engineOf();
    for (const key of ['a', 'b', 'c']) {
      ask.set('', key, 'v', '', { timeToLiveMs: 1000, maxIdleSeconds: 0 });
      ask.set('m', key, 'v', '', { timeToLiveMs: 1000, maxIdleSeconds: 0 });
    }
    ask.set('', 'd', 'v');
    assert.deepEqual([engine.maps.count, engine.entryCount], [1, 3]);
    clock.setWall(clock.wall() + 1500);
    for (const map of ['', 'm']) assert.equal(ask.get(map, 'a').outcome, ABSENT);
    assert.equal(engine.expiredEntryCount, 1);
    clock.advance(HOUR_MS);
    assert.equal(engine.expiredEntryCount, 3);
    assert.deepEqual([engine.maps.count, engine.entryCount], [0, 0]);
    assert.equal(ask.size('').count, 1);
    await engine.close();
  });

  it('a cleared map has no entries at once, and none of them expire', async () => {
    const { engine, ask, clock } = engineOf();
    const lifetime = { timeToLiveMs: 1000, maxIdleSeconds: 0 };
    for (let key = 0; key < 1000; key++) ask.set('m', `${key}`, 'v', '', lifetime);
    ask.clear('m');
    assert.deepEqual([engine.maps.count, engine.entryCount], [0, 0]);
    ask.set('m', 'k', 'v');
    assert.deepEqual(entriesOf(engine), { m: 1 });
    clock.advance(HOUR_MS);
    assert.deepEqual(entriesOf(engine), { m: 1 });
    assert.deepEqual([engine.maps.count, engine.entryCount], [1, 1]);
    assert.equal(engine.expiredEntryCount, 0);
    await engine.close();
  });

  it('entries that a merged clear has ended count until they are removed, and do not expire', async () => {
    const { engine, ask, clock } = engineOf({ keepsTombstones: () => true });
    for (let key = 0; key < 10; key++) ask.set('m', `${key}`, 'v');
    const version = new Version();
    engine.now(version);
    const cleared = new Version().copyFrom(version);
    clock.advance(10);
    ask.set('m', 'later', 'v');
    const clear = changeOf(CLEAR, { version: cleared });
    assert.equal(merged(engine, clear, LATEST_UPDATE).outcome, APPLIED);
    assert.deepEqual(entriesOf(engine), { m: 11 });
    clock.advance(HOUR_MS);
    assert.deepEqual(entriesOf(engine), { m: 1 });
    assert.deepEqual([engine.entryCount, engine.expiredEntryCount], [1, 0]);
    await engine.close();
  });

  it('the capacity of a queue is that of its begin', async () => {
    const { engine, ask } = engineOf({ queueCapacity: subjectCapacity });
    ask.offer('small', 'item');
    ask.offer('large', 'item');
    const { queues } = engine;
    assert.equal(engine.capacityOf(queues.find(span('small'))), SMALL_CAPACITY);
    assert.equal(engine.capacityOf(queues.find(span('large'))), Number.POSITIVE_INFINITY);
    await engine.close();
  });

  it('the counts after a replay are those of the data, also if it was begun again', async () => {
    const sink = new RecordingSink();
    const { engine, ask, clock } = engineOf({ sinks: [sink] });
    const random = new Random(7);
    for (let step = 0; step < 500; step++) {
      const name = `${random.below(5)}`;
      const choice = random.below(10);
      if (choice < 5) ask.set(name, `${random.below(9)}`, 'v');
      else if (choice < 7) ask.delete(name, `${random.below(9)}`);
      else if (choice === 7) ask.clear(name);
      else if (choice === 8) ask.offer(name, 'item');
      else ask.poll(name);
    }
    const { engine: copy } = engineOf({ clock });
    replayInto(copy, sink.records.slice(0, 300), true);
    copy.reset();
    assert.deepEqual([copy.maps.count, copy.queues.count], [0, 0]);
    assert.deepEqual([copy.entryCount, copy.itemCount], [0, 0]);
    replayInto(copy, sink.records, true);
    const sorted = (counts: object) => Object.entries(counts).sort();
    assert.deepEqual(sorted(entriesOf(copy)), sorted(entriesOf(engine)));
    assert.deepEqual(sorted(queuesOf(copy)), sorted(queuesOf(engine)));
    assert.deepEqual(
      [copy.maps.count, copy.entryCount, copy.queues.count, copy.itemCount],
      [engine.maps.count, engine.entryCount, engine.queues.count, engine.itemCount],
    );
    await Promise.all([engine.close(), copy.close()]);
  });

  it('totals count from the start of the engine: a reset and the end keep them', async () => {
    const { engine, ask, clock } = engineOf({ keepsTombstones: () => true, tombstonesMax: 1 });
    for (const key of ['a', 'b'])
      ask.set('m', key, 'v', '', { timeToLiveMs: 1, maxIdleSeconds: 0 });
    clock.advance(HOUR_MS);
    assert.deepEqual([engine.expiredEntryCount, engine.tombstones.droppedCount], [2, 1]);
    engine.reset();
    assert.deepEqual([engine.expiredEntryCount, engine.tombstones.droppedCount], [2, 1]);
    await engine.close();
    assert.deepEqual([engine.expiredEntryCount, engine.tombstones.droppedCount], [2, 1]);
  });

  it('a read of the counts of 100,000 maps changes nothing', async () => {
    const { engine, ask } = engineOf();
    for (let map = 0; map < 100_000; map++) ask.set(`map ${map}`, 'k', 'v');
    const before = [engine.memoryBytes, engine.sequences()];
    assert.deepEqual([engine.maps.count, engine.entryCount], [100_000, 100_000]);
    assert.equal(engine.entriesOf(engine.maps.find(span('map 99999'))), 1);
    assert.equal(engine.maps.find(span('map 100000')), 0);
    assert.deepEqual([engine.memoryBytes, engine.sequences()], before);
    await engine.close();
  });
});
