/** The contract's guarantees about queues. Part of the suite in engine.case.ts. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { ABSENT, APPLIED, FOUND, QUEUE_FULL } from '../../src/engine/engine.ts';
import { type OpenSubject, SMALL_CAPACITY, subjectTests } from './subject.ts';

/** More operations than one script of an engine on servers processes. */
const MANY_AT_ONCE = 150;
const ORDER_ROUNDS = 50;

export function queueCases(name: string, open: OpenSubject): void {
  const test = subjectTests(open);
  describe(`${name}: queues`, () => {
    test('items are polled in the order offered, with their content types', async (asker, {
      many,
    }) => {
      for (let index = 0; index < many; index++) {
        assert.equal(
          (await asker.offer('q', `item ${index}`, `type/${index % 5}`)).outcome,
          APPLIED,
        );
      }
      assert.equal((await asker.queueSize('q')).count, many);
      for (let index = 0; index < many; index++) {
        const answer = await asker.poll('q');
        assert.equal(answer.outcome, FOUND);
        assert.equal(answer.value, `item ${index}`);
        assert.equal(answer.contentType, `type/${index % 5}`);
      }
      assert.equal((await asker.poll('q')).outcome, ABSENT);
      assert.equal((await asker.queueSize('q')).count, 0);
    });

    test('peek returns the next item and leaves it in the queue', async (asker) => {
      assert.equal((await asker.peek('q')).outcome, ABSENT);
      await asker.offer('q', 'a', 't');
      await asker.offer('q', 'b');
      for (let round = 0; round < 2; round++) {
        const answer = await asker.peek('q');
        assert.equal(answer.value, 'a');
        assert.equal(answer.contentType, 't');
      }
      assert.equal((await asker.queueSize('q')).count, 2);
    });

    test('an offer to a full queue is QUEUE_FULL and changes nothing', async (asker) => {
      for (let index = 0; index < SMALL_CAPACITY; index++) await asker.offer('small', `${index}`);
      const full = await asker.offer('small', 'more');
      assert.equal(full.outcome, QUEUE_FULL);
      assert.equal((await asker.queueSize('small')).count, SMALL_CAPACITY);
      assert.equal((await asker.poll('small')).value, '0');
      assert.equal((await asker.offer('small', 'more')).outcome, APPLIED);
      assert.equal((await asker.offer('small', 'still more')).outcome, QUEUE_FULL);
    });

    test('of many concurrent offers the first succeed, and of many takes the first are served', async (asker) => {
      const offers = await Promise.all(
        Array.from({ length: MANY_AT_ONCE }, (_, index) => asker.offer('small', `${index}`)),
      );
      const added = Array.from({ length: SMALL_CAPACITY }, (_, index) => `${index}`);
      const outcomes = offers.map(({ outcome }) => outcome);
      assert.deepEqual(
        outcomes,
        outcomes.map((_, index) => (index < SMALL_CAPACITY ? APPLIED : QUEUE_FULL)),
      );
      const takes = await Promise.all(offers.map(() => asker.take('small')));
      assert.deepEqual(
        takes.map(({ outcome, value }) => (outcome === FOUND ? value : undefined)),
        takes.map((_, index) => added[index]),
      );
    });

    test('offers and takes called at once take effect in the order of the calls', async (asker) => {
      const random = new Random(1);
      const items: string[] = [];
      for (let round = 0; round < ORDER_ROUNDS; round++) {
        const share = random.below(10);
        const expected: (string | undefined)[] = [];
        const takes = Array.from({ length: random.below(MANY_AT_ONCE) }, (_, index) => {
          if (random.below(10) < share) {
            items.push(`${round}:${index}`);
            return asker.offer('q', `${round}:${index}`).then(() => []);
          }
          expected.push(items.shift());
          return asker.take('q').then((taken) => [taken]);
        });
        const taken = (await Promise.all(takes)).flat();
        const found = taken.map(({ outcome, value }) => (outcome === FOUND ? value : undefined));
        assert.deepEqual(found, expected, `round ${round}`);
        await Promise.all(taken.map(({ hold }) => hold && asker.acknowledge(hold, true)));
      }
    });

    test('items of many queues, offered and taken at once, stay in their queues', async (asker) => {
      const names = Array.from({ length: MANY_AT_ONCE }, (_, index) => `q${index % 7}`);
      await Promise.all(names.map((queue, index) => asker.offer(queue, `${queue} ${index}`)));
      const takes = await Promise.all(names.map((queue) => asker.take(queue)));
      assert.deepEqual(
        takes.map(({ value }) => value),
        names.map((queue, index) => `${queue} ${index}`),
      );
    });

    test('an item of 0 bytes and one of 8 MiB are returned', async (asker) => {
      const long = 'l'.repeat(8 * 1024 * 1024);
      await asker.offer('q', '');
      await asker.offer('q', long);
      const empty = await asker.poll('q');
      assert.equal(empty.outcome, FOUND);
      assert.equal(empty.value, '');
      assert.equal((await asker.poll('q')).value, long);
    });
  });
}
