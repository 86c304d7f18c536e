/** The arithmetic of the harness, on which the figures of the benches depend. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Harness, median, percentile, Random } from '../../bench/harness.ts';

test('Random gives the same numbers for the same seed', () => {
  const [one, other] = [new Random(7), new Random(7)];
  assert.deepEqual([one.next(), one.next()], [other.next(), other.next()]);
  assert.deepEqual(one.bytes(8), other.bytes(8));
  for (let round = 0; round < 1000; round++) assert.ok(one.below(3) < 3);
});

test('median and percentile return values at their positions', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(percentile([1, 2, 3, 4], 0.5), 2);
  assert.equal(percentile([1, 2, 3, 4], 0.99), 4);
});

test('Harness.measure runs each operation of a round once, in order', () => {
  const harness = new Harness('small', () => {});
  let next = 0;
  harness.measure({
    name: 'count',
    operations: 1000,
    before: () => {
      assert.ok(next === 0 || next === 1000);
      next = 0;
    },
    run(first, count) {
      assert.equal(first, next);
      next += count;
    },
  });
  assert.equal(next, 1000);
});

test('Harness.alternate reverses the order of the sides in each round', async () => {
  const order: string[] = [];
  const side = (name: string) => ({ name, round: () => order.push(name) });
  const results = await new Harness('small', () => {}).alternate([side('a'), side('b')], 3);
  assert.deepEqual(order, ['a', 'b', 'b', 'a', 'a', 'b']);
  assert.deepEqual(results, [
    [1, 4, 5],
    [2, 3, 6],
  ]);
});
