/**
 * Queues against a plain array of items and a list of waiting takes: offers, takes, deliveries and
 * returns in any order and in random turns, growth, capacity.
 */
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
import { Keeper, span } from '../results.ts';
import { MODEL_RUNS } from './at-once.ts';
import { engineOf } from './components-of.ts';

const CAPACITY = 2500;

interface Item {
  readonly number: number;
  readonly text: string;
}

interface Waiter {
  readonly ticket: number;
  readonly deadlineMs: number;
  readonly keeper: Keeper;
  /** The text of the item that it gets; empty if its time ends. */
  expected?: string;
}

interface Sizes {
  /** Operations of one kind in a row; with many, rings become long and short again. */
  readonly count: number;
  readonly timeoutMs: number;
  readonly steps: number;
}

function stepsOf({ count, timeoutMs, steps }: Sizes) {
  const upTo = (max: number) => fc.integer({ min: 1, max: Math.min(count, max) });
  return fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.record({ offer: upTo(700), length: fc.nat(60) }) },
      { weight: 2, arbitrary: fc.record({ poll: upTo(700) }) },
      { weight: 5, arbitrary: fc.record({ take: upTo(40), timeoutMs: fc.nat(timeoutMs) }) },
      { weight: 2, arbitrary: fc.record({ cancel: fc.nat(20) }) },
      {
        weight: 6,
        arbitrary: fc.record({
          acknowledge: upTo(30),
          which: fc.nat(1000),
          isDelivered: fc.boolean(),
        }),
      },
      { weight: 2, arbitrary: fc.record({ set: upTo(200) }) },
      { weight: 4, arbitrary: fc.constant({ endTurn: true }) },
      { weight: 1, arbitrary: fc.record({ advance: fc.nat(60) }) },
    ),
    { maxLength: steps, size: 'max' },
  );
}

type Step = ReturnType<typeof stepsOf> extends fc.Arbitrary<(infer Each)[]> ? Each : never;

function newEngine(memoryBytesMax = Number.POSITIVE_INFINITY) {
  const options = { queueCapacity: () => CAPACITY, acknowledgesAll: true };
  return engineOf({ partitionCount: 1, memoryBytesMax, ...options });
}

class Run {
  readonly #subject: ReturnType<typeof newEngine>;
  /** The items that are not held, by number. */
  readonly #items: Item[] = [];
  readonly #holds: { readonly hold: number; readonly item: Item }[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #answered: Waiter[] = [];
  #next = 0;

  constructor(subject: ReturnType<typeof newEngine>) {
    this.#subject = subject;
  }

  step(action: Step): void {
    const { engine, clock, ask } = this.#subject;
    if ('offer' in action) {
      for (let count = 0; count < action.offer; count++) this.#offer(action.length * count);
    } else if ('poll' in action) {
      for (let count = 0; count < action.poll; count++) this.#poll();
    } else if ('take' in action) {
      for (let count = 0; count < action.take; count++) this.#take(action.timeoutMs);
    } else if ('cancel' in action) {
      const [waiter] = this.#waiters.splice(action.cancel, 1);
      if (waiter !== undefined) engine.cancel(waiter.ticket);
    } else if ('acknowledge' in action) {
      for (let count = 1; count <= action.acknowledge && this.#holds.length > 0; count++) {
        this.#acknowledge((action.which * count) % this.#holds.length, action.isDelivered);
      }
    } else if ('set' in action) {
      // Entries in the same partition, so that the cleaner moves items and parts of rings.
      for (let count = 0; count < action.set; count++) {
        ask.set('m', `${count % 20}`, Buffer.alloc(((count + this.#next) * 31) % 3000));
      }
    } else if ('advance' in action) this.#advance(action.advance);
    else {
      clock.settle();
      this.#deliver();
    }
    this.#check();
  }

  /** Takes all remaining items. */
  finish(): void {
    const { engine, ask } = this.#subject;
    for (const { ticket } of this.#waiters.splice(0)) engine.cancel(ticket);
    while (this.#holds.length > 0) this.#acknowledge(0, false);
    while (this.#items.length > 0) this.#poll();
    this.#poll();
    for (let count = 0; count < 20; count++) ask.delete('m', `${count}`);
  }

  #offer(length: number): void {
    const item = { number: this.#next, text: `${this.#next}:`.padEnd(length % 4000, '.') };
    const isFull = this.#items.length >= CAPACITY;
    const { outcome } = this.#subject.ask.offer('q', Buffer.from(item.text), 'a/type');
    if (outcome === MEMORY_FULL) return;
    assert.equal(outcome, isFull ? QUEUE_FULL : APPLIED);
    if (isFull) return;
    this.#items.push(item);
    this.#next++;
  }

  /** Returns the item that the next take gets: the first ones are those of the waiters. */
  #taken(): Item | undefined {
    return this.#items.splice(this.#waiters.length, 1)[0];
  }

  #poll(): void {
    assert.equal(this.#subject.ask.poll('q').value, this.#taken()?.text ?? '');
  }

  #take(timeoutMs: number): void {
    const { engine, clock } = this.#subject;
    const item = this.#taken();
    const keeper = new Keeper();
    const ticket = engine.take(span('q'), timeoutMs, keeper);
    if (item === undefined && timeoutMs > 0) {
      this.#waiters.push({ ticket, deadlineMs: clock.now() + timeoutMs, keeper });
      return;
    }
    const { outcome, value, hold } = keeper.seen!;
    assert.deepEqual([outcome, value], item ? [FOUND, item.text] : [ABSENT, '']);
    if (item !== undefined) this.#holds.push({ hold, item });
  }

  #acknowledge(index: number, isDelivered: boolean): void {
    const [{ hold, item }] = this.#holds.splice(index, 1) as [{ hold: number; item: Item }];
    assert.equal(this.#subject.ask.acknowledge(hold, isDelivered).outcome, APPLIED);
    if (isDelivered) return;
    const next = this.#items.findIndex(({ number }) => number > item.number);
    this.#items.splice(next < 0 ? this.#items.length : next, 0, item);
  }

  #advance(ms: number): void {
    const { clock } = this.#subject;
    const endMs = clock.now() + ms;
    clock.advance(ms);
    for (;;) {
      const due = this.#waiters.filter(({ deadlineMs }) => deadlineMs <= endMs);
      const first = due.sort((a, b) => a.deadlineMs - b.deadlineMs)[0];
      if (first === undefined) return;
      // The first waiter whose time is over causes the items to be delivered to the waiting takes,
      // perhaps to itself.
      this.#deliver();
      if (!this.#waiters.includes(first)) continue;
      this.#waiters.splice(this.#waiters.indexOf(first), 1);
      this.#expect(first, '');
    }
  }

  /** Delivers items to the waiting takes. */
  #deliver(): void {
    while (this.#waiters.length > 0 && this.#items.length > 0) {
      const waiter = this.#waiters.shift()!;
      const item = this.#items.shift()!;
      this.#expect(waiter, item.text);
      this.#holds.push({ hold: waiter.keeper.seen?.hold ?? 0, item });
    }
  }

  #expect(waiter: Waiter, text: string): void {
    waiter.expected = text;
    this.#answered.push(waiter);
  }

  #check(): void {
    const { ask, engine } = this.#subject;
    for (const { keeper, expected } of this.#answered.splice(0)) {
      assert.equal(keeper.seen?.value, expected);
    }
    for (const { keeper } of this.#waiters) assert.equal(keeper.seen, undefined);
    const counts = [this.#items.length, this.#holds.length, this.#waiters.length];
    const id = engine.queues.find(span('q'));
    const found = [engine.itemsOf(id), engine.heldItemsOf(id), engine.waitersOf(id)];
    assert.deepEqual(found, counts);
    assert.equal(ask.queueSize('q').count, this.#items.length);
    const next = this.#items[this.#waiters.length];
    const { outcome, value } = ask.peek('q');
    assert.deepEqual([outcome, value], next ? [FOUND, next.text] : [ABSENT, '']);
  }
}

describe('a queue of an embedded engine', () => {
  for (const [title, sizes, runs] of [
    ['takes that wait', { count: 1, timeoutMs: 100, steps: 80 }, 5 * MODEL_RUNS],
    ['many items and takes', { count: 700, timeoutMs: 100, steps: 40 }, MODEL_RUNS],
  ] as const) {
    it(`behaves like an array of items that can be held, with ${title}`, () => {
      fc.assert(
        fc.property(stepsOf(sizes), (actions) => {
          const subject = newEngine();
          const { engine, ask } = subject;
          ask.offer('another', Buffer.from('x'));
          const before = engine.memoryBytes;
          const run = new Run(subject);
          for (const action of actions) run.step(action);
          run.finish();
          ask.set('m', 'k', Buffer.alloc(10));
          ask.delete('m', 'k');
          assert.ok(engine.memoryBytes <= before + 100_000);
          assert.equal(ask.poll('another').value, 'x');
        }),
        { numRuns: runs },
      );
    });
  }

  it('loses and duplicates nothing when memory is full', () => {
    const steps = stepsOf({ count: 700, timeoutMs: 0, steps: 40 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 400_000, max: 1_000_000 }), (actions, bytes) => {
        const run = new Run(newEngine(bytes));
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
    assert.equal(ask.queueSize('a').count, 1);
    assert.equal(ask.queueSize('b').count, 2);
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
