/** Queues against a plain array: takes, deliveries and returns in any order, growth, capacity. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  ABSENT,
  APPLIED,
  FOUND,
  LOST,
  MEMORY_FULL,
  NO_HOLD,
  QUEUE_FULL,
} from '../../../src/engine/engine.ts';
import { type AtOnce, MODEL_RUNS } from './at-once.ts';
import { engineOf } from './components-of.ts';

const CAPACITY = 2500;

interface Item {
  readonly number: number;
  readonly length: number;
}

/** Many operations of one kind in a row, so that rings become long and short again. */
const steps = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ offer: fc.integer({ min: 1, max: 700 }), length: fc.nat(60) }),
    },
    { weight: 2, arbitrary: fc.record({ poll: fc.integer({ min: 1, max: 700 }) }) },
    { weight: 2, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 40 }) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        acknowledge: fc.integer({ min: 1, max: 30 }),
        which: fc.nat(1000),
        isDelivered: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ set: fc.integer({ min: 1, max: 200 }) }) },
  ),
  { maxLength: 40, size: 'max' },
);
type Step = NonNullable<(typeof steps extends fc.Arbitrary<infer T> ? T : never)[number]>;

/** An array of items that behaves like a queue. */
class Model {
  readonly items: Item[] = [];
  readonly holds = new Map<number, Item>();

  return(item: Item): void {
    const next = this.items.findIndex(({ number }) => number > item.number);
    this.items.splice(next < 0 ? this.items.length : next, 0, item);
  }
}

function content(number: number, length: number): Buffer {
  return Buffer.from(`${number}:`.padEnd(length, '.'));
}

class Run {
  readonly #ask: AtOnce;
  readonly #model = new Model();
  #next = 0;

  constructor(ask: AtOnce) {
    this.#ask = ask;
  }

  step(action: Step): void {
    const model = this.#model;
    if ('offer' in action) {
      for (let count = 0; count < action.offer; count++) this.#offer(action.length * count);
    } else if ('poll' in action) {
      for (let count = 0; count < action.poll; count++) this.#poll();
    } else if ('take' in action) {
      for (let count = 0; count < action.take; count++) this.#take();
    } else if ('acknowledge' in action) {
      for (let count = 0; count < action.acknowledge && model.holds.size > 0; count++) {
        const holds: [number, Item][] = [...model.holds];
        const held: [number, Item] = holds[(action.which * (count + 1)) % model.holds.size]!;
        const [hold, item] = held;
        assert.equal(this.#ask.acknowledge(hold, action.isDelivered).outcome, APPLIED);
        model.holds.delete(hold);
        if (!action.isDelivered) model.return(item);
      }
    } else {
      // Entries in the same partition, so that the cleaner moves items and parts of rings.
      for (let count = 0; count < action.set; count++) {
        this.#ask.set('m', `${count % 20}`, Buffer.alloc(((count + this.#next) * 31) % 3000));
      }
    }
    assert.equal(this.#ask.queueSize('q'), model.items.length);
    assert.equal(this.#ask.peek('q').outcome, model.items.length === 0 ? ABSENT : FOUND);
  }

  /** Takes all remaining items. */
  finish(): void {
    for (const [hold, item] of this.#model.holds) {
      this.#ask.acknowledge(hold, false);
      this.#model.return(item);
    }
    while (this.#model.items.length > 0) this.#poll();
    this.#poll();
    for (let count = 0; count < 20; count++) this.#ask.delete('m', `${count}`);
  }

  #offer(length: number): void {
    const full = this.#model.items.length >= CAPACITY;
    const { outcome } = this.#ask.offer('q', content(this.#next, length % 4000), 'a/type');
    if (outcome === MEMORY_FULL) return;
    assert.equal(outcome, full ? QUEUE_FULL : APPLIED);
    if (full) return;
    this.#model.items.push({ number: this.#next, length: length % 4000 });
    this.#next++;
  }

  #poll(): void {
    const item = this.#model.items.shift();
    const answer = this.#ask.poll('q');
    assert.equal(answer.value, item ? content(item.number, item.length).toString() : '');
  }

  #take(): void {
    const item = this.#model.items.shift();
    const answer = this.#ask.take('q');
    assert.equal(answer.outcome, item ? FOUND : ABSENT);
    if (!item) return;
    assert.equal(answer.value, content(item.number, item.length).toString());
    this.#model.holds.set(answer.hold, item);
  }
}

function newEngine(memoryBytesMax = Number.POSITIVE_INFINITY) {
  const options = { queueCapacity: () => CAPACITY, acknowledgesAll: true };
  return engineOf({ partitionCount: 1, memoryBytesMax, ...options });
}

describe('a queue of an embedded engine', () => {
  it('behaves like an array of items that can be held', () => {
    fc.assert(
      fc.property(steps, (actions) => {
        const { engine, ask } = newEngine();
        ask.offer('another', Buffer.from('x'));
        const before = engine.memoryBytes;
        const run = new Run(ask);
        for (const action of actions) run.step(action);
        run.finish();
        ask.set('m', 'k', Buffer.alloc(10));
        ask.delete('m', 'k');
        assert.ok(engine.memoryBytes <= before + 100_000);
        assert.equal(ask.poll('another').value, 'x');
      }),
      { numRuns: MODEL_RUNS },
    );
  });

  it('loses and duplicates nothing when memory is full', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 400_000, max: 1_000_000 }), (actions, bytes) => {
        const run = new Run(newEngine(bytes).ask);
        for (const action of actions) run.step(action);
        run.finish();
      }),
      { numRuns: MODEL_RUNS },
    );
  });

  it('reads its capacity by its name when it is created', () => {
    const names: string[] = [];
    const { ask } = engineOf({ queueCapacity: (queue) => names.push(queue.toString()) });
    for (const queue of ['a', 'a', 'b', 'b', 'b']) ask.offer(queue, Buffer.from('x'));
    assert.deepEqual(names, ['a', 'b']);
    assert.equal(ask.queueSize('a'), 1);
    assert.equal(ask.queueSize('b'), 2);
    ask.poll('a');
    ask.offer('a', Buffer.from('x'));
    assert.deepEqual(names, ['a', 'b', 'a']);
  });

  it('returns a hold only if a result is delayed, or if every take is acknowledged', () => {
    for (const [{ engine, ask }, isHeld] of [
      [engineOf(), false],
      [newEngine(), true],
    ] as const) {
      ask.offer('q', Buffer.from('x'));
      const { hold } = ask.take('q');
      assert.equal(hold !== NO_HOLD, isHeld);
      assert.equal(engine.holdCount, isHeld ? 1 : 0);
      assert.equal(ask.acknowledge(hold, true).outcome, isHeld ? APPLIED : LOST);
      assert.equal(engine.holdCount, 0);
    }
  });
});
