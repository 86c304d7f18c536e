import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TimerWheel } from '../../src/base/timer-wheel.ts';
import { FakeClock } from '../fake-clock.ts';

/** Returns a wheel, and the reported owners with the times. */
function wheelOn(clock: FakeClock, tickMs = 1) {
  const due: [owner: number, atMs: number][] = [];
  const wheel = new TimerWheel(clock, (owner) => due.push([owner, clock.now()]), tickMs);
  return { wheel, due };
}

describe('TimerWheel', () => {
  it('calls onDue at the deadline, not earlier', () => {
    const clock = new FakeClock(1000);
    const { wheel, due } = wheelOn(clock);
    wheel.add(1250, 7);
    clock.advance(249);
    assert.deepEqual(due, []);
    clock.advance(1);
    assert.deepEqual(due, [[7, 1250]]);
    assert.equal(wheel.count, 0);
  });

  it('sets at most one timer, and none without deadlines', () => {
    const clock = new FakeClock();
    const { wheel } = wheelOn(clock);
    assert.equal(clock.timerCount, 0);
    const ids = [5000, 300, 70_000, 301].map((deadlineMs) => wheel.add(deadlineMs, 0));
    assert.equal(clock.timerCount, 1);
    for (const id of ids) wheel.cancel(id);
    assert.equal(clock.timerCount, 0);
  });

  it('drops cancelled deadlines, and ignores the id of a reported one', () => {
    const clock = new FakeClock();
    const { wheel, due } = wheelOn(clock);
    const first = wheel.add(10, 1);
    const second = wheel.add(10, 2);
    wheel.cancel(second);
    clock.advance(10);
    wheel.cancel(first);
    wheel.add(20, 3);
    wheel.cancel(first);
    wheel.cancel(0);
    clock.advance(10);
    assert.deepEqual(due, [
      [1, 10],
      [3, 20],
    ]);
  });

  it('reports a past deadline at the next tick', () => {
    const clock = new FakeClock(5000);
    const { wheel, due } = wheelOn(clock);
    wheel.add(100, 1);
    clock.advance(1);
    assert.deepEqual(due, [[1, 5001]]);
  });

  it('accepts deadlines up to (2^31-1) x 1000 ms ahead', () => {
    const clock = new FakeClock();
    const { wheel, due } = wheelOn(clock);
    const deadlineMs = (2 ** 31 - 1) * 1000;
    wheel.add(deadlineMs, 1);
    clock.advance(deadlineMs - 1);
    assert.deepEqual(due, []);
    clock.advance(1);
    assert.deepEqual(due, [[1, deadlineMs]]);
  });

  it('lets onDue add and cancel', () => {
    const clock = new FakeClock();
    const due: number[] = [];
    let other = 0;
    const wheel = new TimerWheel(clock, (owner) => {
      due.push(owner);
      if (owner !== 1) return;
      wheel.cancel(other);
      wheel.add(clock.now(), 3);
      wheel.add(clock.now() + 100, 4);
    });
    wheel.add(10, 1);
    other = wheel.add(11, 2);
    clock.advance(1000);
    assert.deepEqual(due, [1, 3, 4]);
  });

  it('continues after onDue throws', () => {
    const clock = new FakeClock();
    const due: number[] = [];
    const wheel = new TimerWheel(clock, (owner) => {
      due.push(owner);
      if (owner === 1) throw new Error('from onDue');
    });
    wheel.add(10, 1);
    wheel.add(20, 2);
    assert.throws(() => clock.advance(10), /from onDue/);
    clock.advance(10);
    assert.deepEqual(due, [1, 2]);
  });

  it('calls onDue less than a tick late when ticks are coarse', () => {
    const clock = new FakeClock(3);
    const { wheel, due } = wheelOn(clock, 50);
    wheel.add(60, 1);
    clock.advance(200);
    assert.deepEqual(due, [[1, 103]]);
  });

  it('behaves like a list of deadlines under random additions and cancellations', () => {
    const delay = fc.oneof(
      fc.integer({ min: 0, max: 200 }),
      fc.integer({ min: 0, max: 2 ** 31 }),
      fc.integer({ min: 0, max: 2 ** 41 }),
    );
    const step = fc.oneof(
      fc.record({ add: delay }),
      fc.record({ cancel: fc.nat(50) }),
      fc.record({ advance: delay }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const clock = new FakeClock(123);
        const { wheel, due } = wheelOn(clock);
        // Earliest and latest time by owner. A past deadline may be reported within a tick.
        const model = new Map<number, { from: number; to: number }>();
        const ids: number[] = [];
        for (const action of steps) {
          if ('add' in action) {
            const from = clock.now() + action.add;
            model.set(ids.length, { from, to: Math.max(from, clock.now() + 1) });
            ids.push(wheel.add(from, ids.length));
          } else if ('cancel' in action) {
            wheel.cancel(ids[action.cancel] ?? 0);
            model.delete(action.cancel);
          } else {
            clock.advance(action.advance);
            for (const [owner, atMs] of due.splice(0)) {
              const { from, to } = model.get(owner)!;
              assert.ok(from <= atMs && atMs <= to, `${from} <= ${atMs} <= ${to}`);
              model.delete(owner);
            }
            for (const { to } of model.values()) assert.ok(to > clock.now());
          }
          assert.equal(wheel.count, model.size);
          assert.ok(clock.timerCount <= 1);
          wheel.invariants();
        }
      }),
    );
  });
});
