/** Covers spec/soak/servers/lock-history.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LockHistory } from './lock-history.ts';

const NONE = { 'two holders': 0, 'earlier fence': 0, 'lock lost': 0, 'session lost': 0 };

function holderUntil(liveUntilMs: number) {
  return { liveUntilMs };
}

test('a lock has several live holders only by a fault', () => {
  const history = new LockHistory();
  const [one, two] = [holderUntil(100), holderUntil(200)];
  history.taken('l', one, 5, 10);
  history.taken('m', two, 6, 10);
  history.left('l', one);
  history.taken('l', two, 7, 20);
  assert.deepEqual(history.faults, NONE);
  history.taken('l', one, 8, 30);
  assert.deepEqual(history.faults, { ...NONE, 'two holders': 1 });
});

test('sessions that may have ended are no faults', () => {
  const history = new LockHistory();
  history.taken('l', holderUntil(100), 5, 10);
  history.taken('l', holderUntil(200), 6, 101);
  // A late response to a request of an ended session.
  history.taken('l', holderUntil(50), 1, 101);
  assert.deepEqual(history.faults, NONE);
  assert.equal(history.takenCount, 2);
});

test('fences of live holders rise', () => {
  for (const [fence, faults] of [
    [4, 1],
    [5, 1],
    [6, 0],
  ] as const) {
    const history = new LockHistory();
    const one = holderUntil(100);
    history.taken('l', one, 5, 10);
    history.taken('l', one, 5, 11);
    history.left('l', one);
    history.taken('l', holderUntil(100), fence, 20);
    assert.deepEqual(history.faults, { ...NONE, 'earlier fence': faults });
  }
});

test('a live holder that learns of a loss is a fault, once', () => {
  const history = new LockHistory();
  const holder = holderUntil(100);
  history.lost('lock lost', holder, 50);
  history.lost('session lost', holder, 50);
  history.lost('session lost', holderUntil(100), 100);
  assert.deepEqual(history.faults, { ...NONE, 'lock lost': 1 });
});
