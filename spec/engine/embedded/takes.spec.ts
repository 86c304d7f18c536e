/**
 * Covers src/engine/embedded/waiters.ts and src/engine/embedded/queues.ts. Waiting takes compared
 * with a list of items and a list of waiters: random events in random turns.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { EmbeddedEngine } from '../../../src/engine/embedded/embedded-engine.ts';
import { ABSENT, APPLIED, FOUND } from '../../../src/engine/engine.ts';
import { FakeClock } from '../../fake-clock.ts';
import { Keeper, type Seen, span } from '../results.ts';
import { AtOnce, MODEL_RUNS } from './at-once.ts';

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant({ do: 'offer', with: 0 } as const) },
    { weight: 2, arbitrary: fc.constant({ do: 'poll', with: 0 } as const) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('take' as const), with: fc.nat(100) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), with: fc.nat(20) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('return' as const), with: fc.nat(20) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('deliver' as const), with: fc.nat(20) }) },
    { weight: 4, arbitrary: fc.constant({ do: 'end', with: 0 } as const) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), with: fc.nat(60) }) },
  ),
  { maxLength: 80, size: 'max' },
);
type Step = NonNullable<(typeof steps extends fc.Arbitrary<infer T> ? T : never)[number]>;

interface Waiter {
  readonly ticket: number;
  readonly deadlineMs: number;
  readonly seen: () => Seen | undefined;
  expected: string | undefined;
}

class Run {
  readonly #clock = new FakeClock();
  readonly #engine = new EmbeddedEngine({
    partitionCount: 3,
    clock: this.#clock,
    queueCapacity: () => Number.POSITIVE_INFINITY,
    acknowledgesAll: true,
  });
  readonly #ask = new AtOnce(this.#engine);
  /** Numbers of the items that are not held, sorted. */
  readonly #items: number[] = [];
  readonly #holds: { hold: number; item: number }[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #answered: Waiter[] = [];
  #next = 0;

  step({ do: action, with: number }: Step): void {
    if (action === 'offer') {
      this.#ask.offer('q', Buffer.from(`${this.#next}`));
      this.#items.push(this.#next++);
    } else if (action === 'poll') {
      const item = this.#items.splice(this.#waiters.length, 1)[0];
      assert.equal(this.#ask.poll('q').value, item === undefined ? '' : `${item}`);
    } else if (action === 'take') {
      this.#take(number);
    } else if (action === 'cancel') {
      const waiter = this.#waiters.splice(number, 1)[0];
      if (waiter) this.#engine.cancel(waiter.ticket);
    } else if (action === 'end') {
      this.#clock.settle();
      while (this.#waiters.length > 0 && this.#items.length > 0) this.#deliver();
    } else if (action === 'advance') {
      this.#advance(number);
    } else {
      this.#acknowledge(number, action === 'deliver');
    }
    this.#check();
  }

  #take(timeoutMs: number): void {
    const item = this.#items.splice(this.#waiters.length, 1)[0];
    const keeper = new Keeper();
    const ticket = this.#engine.take(span('q'), timeoutMs, keeper);
    const seen = () => keeper.seen;
    if (item === undefined && timeoutMs > 0) {
      const deadlineMs = this.#clock.now() + timeoutMs;
      this.#waiters.push({ ticket, deadlineMs, seen, expected: undefined });
      return;
    }
    assert.equal(seen()?.outcome, item === undefined ? ABSENT : FOUND);
    if (item === undefined) return;
    assert.equal(seen()?.value, `${item}`);
    this.#holds.push({ hold: seen()?.hold ?? 0, item });
  }

  #acknowledge(number: number, isDelivered: boolean): void {
    const held = this.#holds.splice(number, 1)[0];
    if (held === undefined) return;
    assert.equal(this.#ask.acknowledge(held.hold, isDelivered).outcome, APPLIED);
    if (!isDelivered) this.#items.push(held.item);
    this.#items.sort((a, b) => a - b);
  }

  #advance(ms: number): void {
    const endMs = this.#clock.now() + ms;
    this.#clock.advance(ms);
    for (;;) {
      const due = this.#waiters.filter((waiter) => waiter.deadlineMs <= endMs);
      const first = due.sort((a, b) => a.deadlineMs - b.deadlineMs)[0];
      if (first === undefined) return;
      // The first waiter whose time is over causes the items to be delivered to the waiting takes,
      // perhaps to itself.
      while (this.#waiters.length > 0 && this.#items.length > 0) this.#deliver();
      if (this.#waiters.includes(first)) {
        this.#waiters.splice(this.#waiters.indexOf(first), 1);
        this.#expect(first, '');
      }
    }
  }

  #deliver(): void {
    const waiter = this.#waiters.shift();
    const item = this.#items.shift();
    assert.ok(waiter !== undefined && item !== undefined);
    this.#expect(waiter, `${item}`);
    this.#holds.push({ hold: waiter.seen()?.hold ?? 0, item });
  }

  #expect(waiter: Waiter, value: string): void {
    waiter.expected = value;
    this.#answered.push(waiter);
  }

  #check(): void {
    for (const { seen, expected } of this.#answered) assert.equal(seen()?.value, expected);
    for (const { seen } of this.#waiters) assert.equal(seen(), undefined);
    assert.equal(this.#ask.queueSize('q'), this.#items.length);
    const next = this.#items[this.#waiters.length];
    assert.equal(this.#ask.peek('q').value, next === undefined ? '' : `${next}`);
  }
}

describe('takes of an embedded engine', () => {
  it('receive items like a list of waiters, in order of arrival', () => {
    fc.assert(
      fc.property(steps, (actions) => {
        const run = new Run();
        for (const action of actions) run.step(action);
      }),
      { numRuns: 5 * MODEL_RUNS },
    );
  });
});
