/** What the contract promises of partitions and their sequences. Part of the suite in engine.case.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type OpenSubject, withSubject } from './subject.ts';

export function sequenceCases(name: string, open: OpenSubject): void {
  describe(`${name}: sequences`, () => {
    it(
      'each change raises the sequence of its partition by one, and its answer says both',
      withSubject(open, async (asker, { engine }) => {
        for (let index = 0; index < 50; index++) {
          const before = engine.sequences();
          const key = `k${index % 10}`;
          const answer =
            index % 3 === 2 ? await asker.delete('m', key) : await asker.set('m', key, 'v');
          const after = engine.sequences();
          const changed = index % 3 !== 2 || before[answer.partition] !== after[answer.partition];
          assert.equal(answer.sequence, after[answer.partition]);
          before[answer.partition]! += changed ? 1 : 0;
          assert.deepEqual(after, before);
        }
      }),
    );

    it(
      'what changes nothing raises nothing',
      withSubject(open, async (asker, { engine }) => {
        await asker.set('m', 'k', 'v');
        await asker.offer('q', 'i');
        const before = engine.sequences();
        await asker.get('m', 'k');
        await asker.delete('m', 'other');
        await asker.delete('other', 'k');
        await asker.clear('unknown');
        await asker.size('m');
        await asker.peek('q');
        await asker.poll('unknown');
        await asker.take('unknown');
        const { hold } = await asker.take('q');
        await asker.settle(hold, false);
        assert.deepEqual(engine.sequences(), before);
      }),
    );

    it(
      'a read carries the sequence of its partition',
      withSubject(open, async (asker, { engine }) => {
        const { partition } = await asker.set('m', 'k', 'v');
        await asker.set('m', 'k', 'w');
        const answer = await asker.get('m', 'k');
        assert.equal(answer.partition, partition);
        assert.equal(answer.sequence, engine.sequences()[partition]);
        assert.equal((await asker.get('unknown', 'k')).partition, partition);
      }),
    );

    it(
      'a clear raises every partition to one sequence, greater than all before',
      withSubject(open, async (asker, { engine }) => {
        for (let index = 0; index < 5; index++) await asker.set('m', `k${index}`, 'v');
        const before = engine.sequences();
        await asker.clear('m');
        const expected = Math.max(...before) + 1;
        assert.deepEqual(
          engine.sequences(),
          before.map(() => expected),
        );
      }),
    );

    it(
      'a queue is in one partition',
      withSubject(open, async (asker, { engine }) => {
        const { partition } = await asker.offer('q', 'a');
        const second = await asker.offer('q', 'b');
        assert.equal(second.partition, partition);
        const polled = await asker.poll('q');
        assert.equal(polled.partition, partition);
        assert.equal(polled.sequence, second.sequence + 1);
        const taken = await asker.take('q');
        assert.equal(taken.sequence, polled.sequence);
        const settled = await asker.settle(taken.hold, true);
        assert.equal(settled.sequence, polled.sequence + 1);
        assert.equal(settled.sequence, engine.sequences()[partition]);
      }),
    );
  });
}
