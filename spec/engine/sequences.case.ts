/** The contract's guarantees about partitions and their sequences, for engines that report them. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { EVERY_PARTITION, NO_PARTITION } from '../../src/base/partition-number.ts';
import { type SequencedSubject, subjectTests } from './subject.ts';

/** Defines the tests, each of which opens a separate engine. */
export function sequenceSuite(name: string, open: () => Promise<SequencedSubject>): void {
  const test = subjectTests(open);
  describe(`${name}: sequences`, () => {
    test('each change raises the sequence of its partition by one, and its result has both', async (asker, {
      stored,
    }) => {
      for (let index = 0; index < 50; index++) {
        const before = stored.sequences();
        const key = `k${index % 10}`;
        const answer =
          index % 3 === 2 ? await asker.delete('m', key) : await asker.set('m', key, 'v');
        const after = stored.sequences();
        const changed = index % 3 !== 2 || before[answer.partition] !== after[answer.partition];
        assert.equal(answer.sequence, after[answer.partition]);
        before[answer.partition]! += changed ? 1 : 0;
        assert.deepEqual(after, before);
      }
    });

    test('operations that change nothing raise no sequence', async (asker, { stored }) => {
      await asker.set('m', 'k', 'v');
      await asker.offer('q', 'i');
      const before = stored.sequences();
      await asker.get('m', 'k');
      await asker.delete('m', 'other');
      await asker.delete('other', 'k');
      await asker.clear('unknown');
      await asker.size('m');
      await asker.peek('q');
      await asker.poll('unknown');
      await asker.take('unknown');
      await asker.queueSize('q');
      await asker.acknowledge(12345, true);
      assert.deepEqual(stored.sequences(), before);
    });

    test('the result of a read has the sequence of its partition', async (asker, { stored }) => {
      const { partition } = await asker.set('m', 'k', 'v');
      await asker.set('m', 'k', 'w');
      const answer = await asker.get('m', 'k');
      assert.equal(answer.partition, partition);
      assert.equal(answer.sequence, stored.sequences()[partition]);
      assert.equal((await asker.get('unknown', 'k')).partition, partition);
    });

    test('listed entries depend on their partitions, and a list on every one', async (asker, {
      stored,
    }) => {
      const places = new Map<string, number>();
      for (let index = 0; index < 20; index++) {
        places.set(`${index}`, (await asker.set('m', `${index}`, 'v')).partition);
      }
      const before = stored.sequences();
      const entries = await asker.allEntries('m', { count: 7 });
      assert.equal(entries.length, 20);
      for (const { key, partition, sequence } of entries) {
        assert.deepEqual([partition, sequence], [places.get(key), before[partition]]);
      }
      for (const { seen } of [await asker.entries('m'), await asker.names('map')]) {
        assert.deepEqual([seen?.partition, seen?.sequence], [EVERY_PARTITION, 0]);
      }
      assert.deepEqual(stored.sequences(), before);
    });

    test('a clear raises every partition to one sequence, greater than all before', async (asker, {
      stored,
    }) => {
      for (let index = 0; index < 5; index++) await asker.set('m', `k${index}`, 'v');
      const before = stored.sequences();
      const cleared = await asker.clear('m');
      assert.equal(cleared.partition, EVERY_PARTITION);
      const expected = Math.max(...before) + 1;
      assert.deepEqual(
        stored.sequences(),
        before.map(() => expected),
      );
    });

    test('a queue is in one partition', async (asker, { stored }) => {
      const { partition } = await asker.offer('q', 'a');
      const second = await asker.offer('q', 'b');
      assert.equal(second.partition, partition);
      const polled = await asker.poll('q');
      assert.equal(polled.partition, partition);
      assert.equal(polled.sequence, second.sequence + 1);
      assert.equal(polled.sequence, stored.sequences()[partition]);
    });

    test('a removal and a return of an item raise it, and their results have it', async (asker, {
      stored,
    }) => {
      const { partition, sequence } = await asker.offer('q', 'a');
      const taken = await asker.take('q');
      assert.deepEqual([taken.partition, taken.sequence], [partition, sequence + 1]);
      const ended = await asker.acknowledge(taken.hold, false);
      // Without a hold the item is removed.
      const isBack = (await asker.queueSize('q')).count === 1;
      const place = isBack ? [partition, sequence + 2] : [NO_PARTITION, 0];
      assert.deepEqual([ended.partition, ended.sequence], place);
      assert.equal(stored.sequences()[partition], sequence + (isBack ? 2 : 1));
    });

    test('they do not change when the engine is closed', async (asker, { engine, stored }) => {
      await asker.set('m', 'k', 'v');
      const before = stored.sequences();
      await engine.close();
      assert.deepEqual(stored.sequences(), before);
    });
  });
}
