/**
 * Covers src/wan/publisher-queue.ts and src/wan/persistent-publisher-queue.ts. Events that a
 * recovery queues: the target may already have the changes.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ViewedBytes } from '../../src/base/copy-bytes.ts';
import { EVERY_PARTITION } from '../../src/base/partition-number.ts';
import { CLEAR, DELETE, Mutation, type Operation, SET } from '../../src/engine/mutation.ts';
import { batchesPerEndpoint } from '../../src/wan/batch-limits.ts';
import { readEvent } from '../../src/wan/event-codec.ts';
import { PersistentPublisherQueue } from '../../src/wan/persistent-publisher-queue.ts';
import { PublisherQueue } from '../../src/wan/publisher-queue.ts';
import { FakeClock } from '../fake-clock.ts';
import { changeOf } from './messages.ts';

it('PublisherQueue contains only the latest set of a key while it is restored', () => {
  const queue = new PublisherQueue(7, { capacity: 100, bytesMax: 2 ** 20, batchesMax: 4 }, false);
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

it('PublisherQueue has room for a recovered event up to its limit in bytes and the extra bytes', () => {
  const bytesMax = 1000;
  const queue = new PublisherQueue(7, { capacity: 100, bytesMax, batchesMax: 4 }, false);
  queue.add(changeOf(SET, 'a', 'value'), 0, 0);
  const next = changeOf(SET, 'b', 'value');
  const extraBytes = 2 * queue.bytes - bytesMax;
  assert.equal(queue.hasRoomForRecovered(next, extraBytes), true);
  assert.equal(queue.hasRoomForRecovered(next, extraBytes - 1), false);
});

it('PublisherQueue keeps a queued event when an older change of its key is recovered', () => {
  const queue = new PublisherQueue(7, { capacity: 100, bytesMax: 2 ** 20, batchesMax: 4 }, false);
  queue.beginRestore();
  for (const low of [5, 4]) {
    const change = changeOf(SET, 'key', `value ${low}`);
    change.version.set(low, change.version.high);
    queue.add(change, 0, 0);
  }
  const [lane] = queue.lanes;
  const event = new Mutation();
  lane!.eachFrom(0, (position) => {
    const { chunk, at } = lane!.eventAt(position);
    readEvent(chunk, at, chunk.bytes.length, event);
    return true;
  });
  assert.deepEqual([queue.size, event.value.toBuffer().toString()], [1, 'value 5']);
});

it('PublisherQueue has as many lanes as batches may be in progress, from 8 to 32, or as partitions', () => {
  const lanesOf = (partitions: number, batchesMax: number) =>
    new PublisherQueue(partitions, { capacity: 1, bytesMax: 1, batchesMax }, false).lanes.length;
  const wanted = [4, 8, 9, 32, 33].map((batchesMax) => lanesOf(271, batchesMax));
  assert.deepEqual(wanted, [8, 8, 9, 32, 32]);
  assert.deepEqual([lanesOf(7, 4), lanesOf(9, 33)], [7, 9]);
  assert.deepEqual([-1, 1, 2, 20].map(batchesPerEndpoint), [4, 4, 2, 20]);
});

for (const [before, afterwards] of [
  [32, 8],
  [8, 32],
] as const) {
  it(`events in ${before} lanes are restored into ${afterwards}`, () => {
    const partitions = 64;
    const limits = { capacity: 1000, bytesMax: 2 ** 24 };
    const kept = new PublisherQueue(partitions, { ...limits, batchesMax: before }, false);
    let version = 0;
    const add = (operation: Operation, partition: number, sequence: number) => {
      const change = changeOf(operation, `k${partition}-${sequence}`, 'value');
      change.path.clear();
      change.partition = partition;
      change.sequence = sequence;
      change.version.set(++version, 1);
      kept.add(change, 0, 0);
    };
    for (let each = 0; each < partitions; each++) add(SET, each, 1);
    add(CLEAR, EVERY_PARTITION, 2);
    for (let each = 0; each < partitions; each++) add(SET, each, 3);
    /** Restores what waited and was not sent: changes after this sequence. */
    const restoredAfter = (sequence: number): PublisherQueue => {
      const queue = new PublisherQueue(partitions, { ...limits, batchesMax: afterwards }, false);
      const restored = new PersistentPublisherQueue({
        name: '',
        queue,
        clock: new FakeClock(),
        published: () => undefined,
        onCleared: () => assert.fail(),
        onDropped: () => assert.fail('the queue is full'),
      });
      restored.beginRestore(new Float64Array(partitions).fill(sequence));
      for (let lane = 0; lane < before; lane++) {
        const { bytes, view } = new ViewedBytes(65_536);
        const end = kept.cut(lane).copy({ bytes, view }, 0, bytes.length);
        assert(restored.restore(lane, bytes, 0, end));
      }
      return queue;
    };
    const queue = restoredAfter(0);
    assert.deepEqual([kept.lanes.length, queue.lanes.length], [before, afterwards]);
    assert.equal(queue.size, kept.size);
    const left = [1, 2, 3].map((sequence) => restoredAfter(sequence).size);
    assert.deepEqual(left, [partitions + 1, partitions, 0]);
    // The result at a target that receives the lanes one after another.
    const stored = new Map<string, number>();
    let cleared = 0;
    const event = new Mutation();
    for (const lane of queue.lanes) {
      lane.eachFrom(0, (position) => {
        const { chunk, at } = lane.eventAt(position);
        readEvent(chunk, at, chunk.bytes.length, event);
        const { low } = event.version;
        if (event.operation === CLEAR) {
          cleared = Math.max(cleared, low);
          for (const [key, each] of stored) if (each <= cleared) stored.delete(key);
        } else if (low > cleared) stored.set(event.key.toBuffer().toString(), low);
        return true;
      });
    }
    const expected = Array.from({ length: partitions }, (_, each) => `k${each}-3`);
    assert.deepEqual([...stored.keys()].sort(), expected.sort());
  });
}
