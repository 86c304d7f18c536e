import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Deadlines } from '../../src/http/deadlines.ts';
import { FakeClock } from '../fake-clock.ts';

describe('Deadlines', () => {
  it('call each owner once, at the time set last', () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    const called: [string, number][] = [];
    const enter = (name: string) =>
      deadlines.enter({ onDeadline: () => called.push([name, clock.now()]) });
    const first = enter('first');
    const second = enter('second');
    deadlines.set(first, 1000);
    deadlines.set(second, 500);
    deadlines.set(first, 2000);
    assert.equal(deadlines.count, 2);
    clock.advance(5000);
    assert.deepEqual(called, [
      ['second', 500],
      ['first', 2000],
    ]);
    assert.equal(clock.timerCount, 0);
  });

  it('let an owner set its deadline again during the call', () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    let called = 0;
    const place = deadlines.enter({
      onDeadline() {
        called++;
        deadlines.set(place, clock.now() + 100);
      },
    });
    deadlines.set(place, 100);
    clock.advance(1000);
    assert.equal(called, 10);
  });

  it('do not call an owner that was removed, even when its place is reused', () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    const called: string[] = [];
    const gone = deadlines.enter({ onDeadline: () => called.push('gone') });
    deadlines.set(gone, 100);
    deadlines.leave(gone);
    const next = deadlines.enter({ onDeadline: () => called.push('next') });
    assert.equal(next, gone);
    assert.equal(deadlines.count, 0);
    deadlines.set(next, 200);
    clock.advance(1000);
    assert.deepEqual(called, ['next']);
  });

  it('have room for any number of owners', () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    let called = 0;
    for (let owner = 0; owner < 5000; owner++) {
      deadlines.set(deadlines.enter({ onDeadline: () => called++ }), 100 + owner);
    }
    clock.advance(10_000);
    assert.equal(called, 5000);
  });
});
