/** What a recovery queues: changes that the target may have already. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EVERY_PARTITION } from '../../src/engine/engine.ts';
import { CLEAR, DELETE, type Operation, SET } from '../../src/engine/mutation.ts';
import { PublisherQueue } from '../../src/wan/publisher-queue.ts';
import { changeOf } from './messages.ts';

it('PublisherQueue has the latest set of a key alone while it is restored', () => {
  const queue = new PublisherQueue(7, { capacity: 100, bytesMax: 2 ** 20 }, false);
  let sequence = 0;
  const add = (operation: Operation, key: string) => {
    const change = changeOf(operation, key, 'value');
    sequence++;
    change.version.set(change.version.low + sequence, change.version.high);
    change.sequence = sequence;
    if (operation === CLEAR) change.partition = EVERY_PARTITION;
    queue.add(change, 0, 0);
    return queue.size;
  };
  assert.deepEqual([add(SET, 'a'), add(SET, 'a')], [1, 2]);
  queue.beginRestore();
  assert.deepEqual([add(SET, 'a'), add(SET, 'a'), add(SET, 'b')], [1, 1, 2]);
  assert.deepEqual([add(CLEAR, ''), add(SET, 'a'), add(SET, 'a')], [3, 3, 3]);
  assert.deepEqual([add(DELETE, 'a'), add(SET, 'a')], [4, 4]);
  queue.endRestore();
  assert.deepEqual([add(SET, 'a'), add(SET, 'a')], [5, 6]);
});
