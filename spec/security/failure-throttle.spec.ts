import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureThrottle } from '../../src/security/failure-throttle.ts';

const FAILURES_MAX = 5;
const WINDOW_MS = 10_000;

function failed(throttle: FailureThrottle, key: string, ...startsMs: number[]): void {
  for (const startMs of startsMs) throttle.begin(key, startMs);
}

test('FailureThrottle makes a key wait from the fifth failure until the oldest is ten seconds old', () => {
  const throttle = new FailureThrottle();
  failed(throttle, 'a', 0, 1000, 2000, 3000);
  assert.equal(throttle.waitMs('a', 3000), 0);
  failed(throttle, 'a', 4000);
  assert.equal(throttle.waitMs('a', 4000), 6000);
  assert.equal(throttle.waitMs('a', 9999), 1);
  assert.equal(throttle.waitMs('a', 10_000), 0);
  failed(throttle, 'a', 10_000);
  assert.equal(throttle.waitMs('a', 10_000), 1000);
});

test('FailureThrottle does not affect other keys', () => {
  const throttle = new FailureThrottle();
  failed(throttle, 'a', 0, 0, 0, 0, 0);
  assert.equal(throttle.waitMs('b', 0), 0);
});

test('FailureThrottle withdraws an attempt that proved right, and only that one', () => {
  const throttle = new FailureThrottle();
  failed(throttle, 'a', 0, 1, 2, 3, 4);
  throttle.withdraw('a', 2);
  assert.equal(throttle.waitMs('a', 4), 0);
  failed(throttle, 'a', 5);
  assert.equal(throttle.waitMs('a', 5), WINDOW_MS - 5);
  throttle.withdraw('b', 0);
});

test('FailureThrottle drops a key when its last failure no longer counts', () => {
  const throttle = new FailureThrottle();
  failed(throttle, 'a', 0);
  assert.equal(throttle.waitMs('a', WINDOW_MS), 0);
  assert.equal(throttle.size, 0);
});

test('FailureThrottle at its limit has room for existing keys, and for new ones instead of expired ones', () => {
  const throttle = new FailureThrottle(2);
  failed(throttle, 'a', 0);
  failed(throttle, 'b', 1);
  assert.ok(throttle.hasRoom('a', 1));
  assert.ok(!throttle.hasRoom('c', 1));
  assert.ok(throttle.hasRoom('c', WINDOW_MS));
  assert.equal(throttle.size, 1);
});

test('FailureThrottle without room drops the least recently used key', () => {
  const throttle = new FailureThrottle(2);
  failed(throttle, 'a', 0, 0, 0, 0, 0);
  failed(throttle, 'b', 0, 0, 0, 0, 0);
  failed(throttle, 'a', 1);
  failed(throttle, 'c', 2);
  assert.equal(throttle.size, 2);
  assert.equal(throttle.waitMs('b', 2), 0);
  assert.ok(throttle.waitMs('a', 2) > 0);
});

test('FailureThrottle counts at most its limit of failures', () => {
  const throttle = new FailureThrottle();
  for (let count = 1; count <= FAILURES_MAX; count++) {
    assert.equal(throttle.waitMs('a', 0), 0);
    throttle.begin('a', 0);
  }
  assert.equal(throttle.waitMs('a', 0), WINDOW_MS);
});

test('FailureThrottle with another limit waits for the oldest of that many last failures', () => {
  const throttle = new FailureThrottle(undefined, 200);
  for (let count = 0; count < 199; count++) throttle.begin('a', 0);
  assert.equal(throttle.waitMs('a', 0), 0);
  throttle.begin('a', 0);
  assert.equal(throttle.waitMs('a', 0), WINDOW_MS);
  for (let count = 0; count < 200; count++) throttle.begin('a', 1000);
  assert.equal(throttle.waitMs('a', WINDOW_MS), 1000);
  throttle.withdraw('a', 1000);
  assert.equal(throttle.waitMs('a', WINDOW_MS), 0);
});
