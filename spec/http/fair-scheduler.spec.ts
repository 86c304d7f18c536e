import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairScheduler, REQUESTS_IN_A_ROW } from '../../src/http/fair-scheduler.ts';
import { FakeClock } from '../fake-clock.ts';
import { client, drainNow, LIVE, poll } from './test-client.ts';

describe('FairScheduler', () => {
  it('resumes all waiting connections once per turn, in order, for at most five milliseconds', () => {
    const clock = new FakeClock();
    const scheduler = new FairScheduler(clock);
    const went: string[] = [];
    const add = (name: string, costMs: number, times: number): void => {
      let left = times;
      const taker = {
        resume() {
          went.push(name);
          clock.advance(costMs);
          if (--left > 0) scheduler.add(taker);
        },
      };
      scheduler.add(taker);
    };
    add('a', 3, 2);
    add('b', 3, 1);
    add('c', 0, 1);
    clock.endTurn();
    assert.equal(went.join(' '), 'a b');
    clock.endTurn();
    assert.equal(went.join(' '), 'a b c a');
    assert.equal(clock.endCount, 0);
  });
});

describe('a connection with many requests', () => {
  it('runs REQUESTS_IN_A_ROW requests, then lets others run first', () => {
    const { socket, statuses, another, clock } = client();
    socket.receive(LIVE.repeat(REQUESTS_IN_A_ROW * 2 + 1));
    assert.equal(statuses().length, REQUESTS_IN_A_ROW);
    assert(socket.isPaused);
    const other = another();
    other.socket.receive(LIVE.repeat(REQUESTS_IN_A_ROW));
    assert.equal(other.statuses().length, REQUESTS_IN_A_ROW);
    assert(!other.socket.isPaused);
    clock.endTurn();
    assert.equal(statuses().length, REQUESTS_IN_A_ROW * 2);
    clock.endTurn();
    assert.equal(statuses().length, REQUESTS_IN_A_ROW * 2 + 1);
    assert(!socket.isPaused);
    assert.equal(clock.endCount, 0);
  });

  it('gets responses to all of them if it half-closes or drains meanwhile', () => {
    const closing = client();
    const draining = client();
    for (const { socket } of [closing, draining]) socket.receive(LIVE.repeat(100) + poll('q'));
    closing.socket.receiveEnd();
    drainNow(draining);
    for (const { clock, statuses, socket } of [closing, draining]) {
      clock.settle();
      assert.equal(statuses().length, 101);
      assert.equal(statuses()[100], 204);
      assert(socket.writableEnded);
    }
  });

  it('is forgotten if it disconnects meanwhile', () => {
    const { socket, clock } = client();
    socket.receive(LIVE.repeat(100));
    socket.destroy();
    clock.settle();
    assert.equal(clock.endCount, 0);
  });
});
