/**
 * The contract's guarantees about holds, from a take's FOUND to acknowledge: for engines that
 * return a hold for every taken item.
 */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ABSENT, APPLIED, FOUND, LOST, NO_HOLD, QUEUE_FULL } from '../../src/engine/engine.ts';
import { copied, Keeper, span } from './results.ts';
import { type OpenSubject, SMALL_CAPACITY, subjectTests } from './subject.ts';

/** Defines the tests, each of which opens a separate engine. */
export function holdSuite(name: string, open: OpenSubject): void {
  const test = subjectTests(open);
  describe(`${name}: holds`, () => {
    test('a delivered item is gone, and its hold has ended', async (asker) => {
      for (const item of 'abc') await asker.offer('q', item);
      const first = await asker.take('q');
      const second = await asker.take('q');
      assert.deepEqual([first.value, second.value], ['a', 'b']);
      assert.notEqual(first.hold, NO_HOLD);
      assert.equal((await asker.acknowledge(second.hold, true)).outcome, APPLIED);
      for (const isDelivered of [true, false]) {
        assert.equal((await asker.acknowledge(second.hold, isDelivered)).outcome, LOST);
      }
      assert.equal((await asker.acknowledge(first.hold, false)).outcome, APPLIED);
      assert.equal((await asker.acknowledge(first.hold, false)).outcome, LOST);
      assert.equal((await asker.acknowledge(first.hold, true)).outcome, LOST);
      for (const item of 'ac') assert.equal((await asker.poll('q')).value, item);
      assert.equal((await asker.poll('q')).outcome, ABSENT);
    });

    test('a hold that never existed is LOST', async (asker) => {
      await asker.offer('q', 'a');
      const { hold } = await asker.take('q');
      for (const other of [NO_HOLD, hold + 1, hold + 2 ** 26, 2 ** 52]) {
        assert.equal((await asker.acknowledge(other, false)).outcome, LOST);
      }
      assert.equal((await asker.acknowledge(hold, true)).outcome, APPLIED);
    });

    test('a held item is not visible, and counts neither in the size nor against the capacity', async (asker) => {
      for (let index = 0; index < SMALL_CAPACITY; index++) await asker.offer('small', `${index}`);
      const { hold, value } = await asker.take('small');
      assert.equal(value, '0');
      assert.equal((await asker.peek('small')).value, '1');
      assert.equal((await asker.queueSize('small')).count, SMALL_CAPACITY - 1);
      assert.equal((await asker.offer('small', 'more')).outcome, APPLIED);
      assert.equal((await asker.offer('small', 'still more')).outcome, QUEUE_FULL);
      assert.equal((await asker.acknowledge(hold, true)).outcome, APPLIED);
      assert.equal((await asker.queueSize('small')).count, SMALL_CAPACITY);
    });

    test('an item returns to a full queue, beyond its capacity, as its first', async (asker) => {
      for (let index = 0; index < SMALL_CAPACITY; index++) await asker.offer('small', `${index}`);
      const { hold } = await asker.take('small');
      await asker.offer('small', 'last');
      await asker.acknowledge(hold, false);
      assert.equal((await asker.queueSize('small')).count, SMALL_CAPACITY + 1);
      assert.equal((await asker.poll('small')).value, '0');
      assert.equal((await asker.offer('small', 'more')).outcome, QUEUE_FULL);
      for (const item of ['1', '2', 'last']) {
        assert.equal((await asker.poll('small')).value, item);
      }
    });

    test('returned items are first again, in their old order, however they return', async (asker) => {
      for (const item of 'abcdef') await asker.offer('q', item, `type/${item}`);
      const holds: number[] = [];
      for (let count = 0; count < 4; count++) holds.push((await asker.take('q')).hold);
      for (const index of [2, 0, 3]) await asker.acknowledge(holds[index]!, false);
      assert.equal((await asker.queueSize('q')).count, 5);
      assert.equal((await asker.poll('q')).value, 'a');
      await asker.acknowledge(holds[1]!, false);
      for (const item of 'bcdef') {
        const answer = await asker.poll('q');
        assert.deepEqual([answer.value, answer.contentType], [item, `type/${item}`]);
      }
      assert.equal((await asker.poll('q')).outcome, ABSENT);
    });

    test('an item may be taken and returned repeatedly, even the last one of its queue', async (asker) => {
      const long = 'l'.repeat(300_000);
      await asker.offer('q', long, 'a/type');
      for (let round = 0; round < 5; round++) {
        const { value, contentType, hold } = await asker.take('q');
        assert.ok(value === long);
        assert.equal(contentType, 'a/type');
        assert.equal((await asker.take('q')).outcome, ABSENT);
        await asker.acknowledge(hold, false);
      }
      assert.equal((await asker.queueSize('q')).count, 1);
    });

    test('a returned item is delivered to the waiting take', async (asker, { quiet }) => {
      await asker.offer('q', 'a');
      const { hold } = await asker.take('q');
      const first = asker.wait('q', 1000);
      const second = asker.wait('q', 1000);
      await quiet();
      assert.equal(first.keeper.isAnswered, false);
      await asker.acknowledge(hold, false);
      await quiet();
      assert.equal(first.keeper.seen?.value, 'a');
      assert.equal(second.keeper.isAnswered, false);
      assert.equal((await asker.queueSize('q')).count, 0);
      await asker.acknowledge(first.keeper.seen.hold, false);
      await quiet();
      assert.equal(second.keeper.seen?.value, 'a');
    });

    for (const isDelivered of [true, false]) {
      test(`acknowledge, ${isDelivered}, may be called inside onResult, and the value stays as long`, async (asker, {
        engine,
        quiet,
      }) => {
        const values: string[] = [];
        const ended = new Keeper();
        asker.wait('q', 1000, (answer) => {
          engine.acknowledge(answer.hold, isDelivered, ended);
          for (let count = 0; count < 100; count++) {
            engine.offer(span('other'), span('b'.repeat(200)), span(''), new Keeper());
          }
          values.push(copied(answer).value);
        });
        await asker.offer('q', 'a'.repeat(200));
        await quiet();
        assert.equal((await ended.answered).outcome, APPLIED);
        assert.deepEqual(values, ['a'.repeat(200)]);
        assert.equal((await asker.poll('q')).outcome, isDelivered ? ABSENT : FOUND);
      });
    }

    test('the cancel of a completed take does not affect its hold', async (asker, {
      engine,
      quiet,
    }) => {
      const { keeper, ticket } = asker.wait('q', 1000);
      await asker.offer('q', 'a');
      await quiet();
      engine.cancel(ticket);
      await quiet();
      assert.equal((await asker.queueSize('q')).count, 0);
      assert.equal((await asker.acknowledge(keeper.seen?.hold ?? 0, true)).outcome, APPLIED);
      assert.equal((await asker.queueSize('q')).count, 0);
    });
  });
}
