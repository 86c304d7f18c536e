import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExtentPool } from '../../../src/engine/embedded/extent-pool.ts';
import { Holds } from '../../../src/engine/embedded/holds.ts';
import { IdColumns } from '../../../src/engine/embedded/id-columns.ts';
import { MemoryMeter } from '../../../src/engine/embedded/memory-meter.ts';
import { Waiters } from '../../../src/engine/embedded/waiters.ts';
import type { Receiver } from '../../../src/engine/engine.ts';
import { FakeClock } from '../../fake-clock.ts';
import { Asker } from '../results.ts';
import { engineOf } from './components-of.ts';

function newIds(): IdColumns {
  return new IdColumns(
    new ExtentPool(new MemoryMeter(Number.POSITIVE_INFINITY, 0), new FakeClock()),
  );
}

function newWaiters() {
  const clock = new FakeClock();
  const due: number[] = [];
  const waiters = new Waiters(clock, newIds(), (ticket) => {
    due.push(ticket);
    waiters.remove(ticket);
  });
  return { clock, waiters, due };
}

function receivers(count: number): Receiver[] {
  return Array.from({ length: count }, () => ({ onResult: () => {} }));
}

describe('Waiters', () => {
  it('first is the waiter that has waited longest, whichever were removed', () => {
    const { waiters } = newWaiters();
    const all = receivers(6);
    const tickets = all.map((receiver) => waiters.add(7, 1000, receiver));
    waiters.remove(tickets[0]!);
    waiters.remove(tickets[3]!);
    waiters.remove(tickets[5]!);
    assert.equal(waiters.count(7), 3);
    for (const index of [1, 2, 4]) {
      assert.equal(waiters.first(7), tickets[index]);
      assert.equal(waiters.remove(waiters.first(7)), all[index]);
    }
    assert.equal(waiters.count(7), 0);
  });

  it('queue is 0 for a removed ticket, even when its place is reused', () => {
    const { waiters } = newWaiters();
    const [first, second] = receivers(2);
    const ticket = waiters.add(7, 1000, first!);
    waiters.remove(ticket);
    waiters.add(8, 1000, second!);
    assert.equal(waiters.queue(ticket), 0);
  });

  it('calls onDue when the time is over, in the order of deadlines', () => {
    const { waiters, clock, due } = newWaiters();
    const [a, b, c] = receivers(3);
    const late = waiters.add(1, 5000, a!);
    const early = waiters.add(1, 50, b!);
    const gone = waiters.add(2, 10, c!);
    waiters.remove(gone);
    clock.advance(6000);
    assert.deepEqual(due, [early, late]);
    assert.equal(clock.timerCount, 0);
  });

  it('100,000 waiters on one queue are cancelled at random without a search', () => {
    const { waiters, clock } = newWaiters();
    const [receiver] = receivers(1);
    const tickets = Array.from({ length: 100_000 }, () => waiters.add(1, 60_000, receiver!));
    for (let step = 0; step < tickets.length; step++) {
      waiters.remove(tickets[(step * 7919) % tickets.length]!);
    }
    assert.equal(waiters.count(1), 0);
    assert.equal(clock.timerCount, 0);
  });
});

describe('Holds', () => {
  it('returned items are ordered by sequence', () => {
    const holds = new Holds(newIds());
    const tickets = [5, 3, 9, 1, 7].map((sequence) => holds.add(4, sequence));
    assert.deepEqual([holds.count, holds.isHeld(4, 9), holds.isHeld(4, 8)], [5, true, false]);
    for (const ticket of tickets) holds.return(holds.place(ticket));
    assert.equal(holds.count, 0);
    assert.equal(holds.holdsAny(4), false);
    assert.equal(holds.returned(4), 5);
    assert.equal(holds.returnedAt(4, 2), 5);
    assert.equal(holds.takeReturned(4, 4), 9);
    assert.equal(holds.takeReturned(4, 0), 1);
    assert.equal(holds.takeReturned(4, 1), 5);
    holds.addReturned(4, 8);
    assert.deepEqual(
      [0, 0, 0].map(() => holds.takeReturned(4, 0)),
      [3, 7, 8],
    );
  });
});

describe('a receiver that throws', () => {
  it('does not affect the results of others', async () => {
    const { engine, clock } = engineOf();
    const asker = new Asker(engine);
    asker.wait('q', 1000, () => {
      throw new Error('from onResult');
    });
    const second = asker.wait('q', 1000);
    const other = asker.wait('r', 1000);
    await asker.offer('q', 'a');
    await asker.offer('q', 'b');
    await asker.offer('r', 'c');
    assert.throws(() => clock.endTurn(), /from onResult/);
    clock.settle();
    assert.equal(second.keeper.seen?.value, 'b');
    assert.equal(other.keeper.seen?.value, 'c');
  });
});
