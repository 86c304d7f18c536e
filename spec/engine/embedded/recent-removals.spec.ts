/** The removals that a replay records: the last 65,536, each by its key and version. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentRemovals } from '../../../src/engine/embedded/recent-removals.ts';
import { DELETE, type Mutation, SET } from '../../../src/engine/mutation.ts';
import { changeOf } from '../changes.ts';

const COUNT_MAX = 65_536;

function changeIn(operation: typeof SET | typeof DELETE, version: number, key = 'k'): Mutation {
  const change = changeOf(operation, { version, key, partition: 3 });
  change.life.set(1, 1);
  return change;
}

test('a removal is recorded until the ring is full of later removals', () => {
  const removals = new RecentRemovals();
  const set = changeIn(SET, 5);
  assert.equal(removals.has(set, -77), false);
  removals.add(changeIn(DELETE, 5), -77);
  assert.equal(removals.has(set, -77), true);
  const other = changeIn(DELETE, 6);
  // Other removals with the same lower bits of the hash, and with different ones.
  for (let count = 1; count < COUNT_MAX; count++) {
    removals.add(other, count % 3 === 0 ? -77 : Math.imul(count, 0x9e3779b1));
  }
  assert.equal(removals.has(set, -77), true);
  removals.add(other, 1);
  assert.equal(removals.has(set, -77), false);
  assert.equal(removals.has(changeIn(SET, 6), -77), true);
});

test('only a set of the same key, life and version counts as removed', () => {
  const removals = new RecentRemovals();
  removals.add(changeIn(DELETE, 5), 77);
  removals.add(changeIn(DELETE, 9, 'longer'), 77 + COUNT_MAX);
  const others: [Mutation, number][] = [
    [changeIn(SET, 4), 77],
    [changeIn(SET, 6), 77],
    [changeIn(SET, 10), 77],
    [changeIn(SET, 9), 77],
    [changeIn(SET, 5), 77 + COUNT_MAX],
    [changeIn(SET, 5, 'kk'), 77],
  ];
  const inOtherPartition = changeIn(SET, 5);
  inOtherPartition.partition = 4;
  const inOtherLife = changeIn(SET, 5);
  inOtherLife.life.set(2, 1);
  others.push([inOtherPartition, 77], [inOtherLife, 77]);
  for (const [set, hash] of others) assert.equal(removals.has(set, hash), false);
  assert.equal(removals.has(changeIn(SET, 5), 77), true);
  assert.equal(removals.has(changeIn(SET, 9, 'longer'), 77 + COUNT_MAX), true);
});
