import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Deadlines } from '../../src/http/deadlines.ts';
import { FakeClock } from '../fake-clock.ts';

describe('Deadlines', () => {
  it('call each owner once, at the time set last', () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    const told: [string, number][] = [];
    const enter = (name: string) =>
      deadlines.enter({ onDeadline: () => told.push([name, clock.now()]) });
    const [first, second] = [enter('first'), enter('second')];
    deadlines.set(first, 1000);
    deadlines.set(second, 500);
    deadlines.set(first, 2000);
    assert.equal(deadlines.count, 2);
    clock.advance(5000);
    assert.deepEqual(told, [
      ['second', 500],
      ['first', 2000],
    ]);
    assert.equal(clock.timerCount, 0);
  });

  it('let an owner set its deadline again during the call', () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    let told = 0;
    const place = deadlines.enter({
      onDeadline() {
        told++;
        deadlines.set(place, clock.now() + 100);
      },
    });
    deadlines.set(place, 100);
    clock.advance(1000);
    assert.equal(told, 10);
  });

  it('do not call an owner that has left, even when its place is reused', () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    const told: string[] = [];
    const gone = deadlines.enter({ onDeadline: () => told.push('gone') });
    deadlines.set(gone, 100);
    deadlines.leave(gone);
    const next = deadlines.enter({ onDeadline: () => told.push('next') });
    assert.equal(next, gone);
    assert.equal(deadlines.count, 0);
    deadlines.set(next, 200);
    clock.advance(1000);
    assert.deepEqual(told, ['next']);
  });

  it('have room for any number of owners', () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    let told = 0;
    for (let owner = 0; owner < 5000; owner++) {
      deadlines.set(deadlines.enter({ onDeadline: () => told++ }), 100 + owner);
    }
    clock.advance(10_000);
    assert.equal(told, 5000);
  });
});
