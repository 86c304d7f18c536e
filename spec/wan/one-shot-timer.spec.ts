import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OneShotTimer } from '../../src/wan/one-shot-timer.ts';
import { FakeClock } from '../fake-clock.ts';

describe('OneShotTimer', () => {
  const calls: number[] = [];
  const clock = new FakeClock();
  const timer = new OneShotTimer(clock, () => calls.push(clock.now()));

  it('calls once, at the earliest time that was set', () => {
    const beganMs = clock.now();
    for (const ms of [500, 100.5, 300]) timer.set(beganMs + ms);
    assert(timer.isSet);
    clock.advance(1000);
    assert.deepEqual(calls.splice(0), [beganMs + 101]);
    assert(!timer.isSet);
  });

  it('can be set again, by its callback or to a time in the past', () => {
    const again = new OneShotTimer(clock, () => {
      if (calls.push(clock.now()) < 3) again.set(clock.now() - 5);
    });
    const beganMs = clock.now();
    again.set(beganMs + 10);
    clock.advance(20);
    assert.deepEqual(calls.splice(0), [beganMs + 10, beganMs + 10, beganMs + 10]);
  });

  it('does not call after it is cancelled, and can then be set to a later time', () => {
    const beganMs = clock.now();
    timer.set(beganMs + 10);
    timer.cancel();
    assert(!timer.isSet);
    timer.set(beganMs + 20);
    clock.advance(15);
    assert.deepEqual(calls, []);
    clock.advance(5);
    assert.deepEqual(calls, [beganMs + 20]);
  });

  it('is cancelled by an infinite time', () => {
    const none = new OneShotTimer(clock, () => assert.fail());
    none.set(Number.POSITIVE_INFINITY);
    assert(!none.isSet);
    none.set(clock.now() + 10);
    none.set(Number.POSITIVE_INFINITY);
    assert(!none.isSet);
    clock.advance(20);
  });
});
