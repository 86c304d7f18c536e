/** The contract's guarantees about takes. Part of the suite in engine.case.ts. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ABSENT, FOUND, NO_TICKET } from '../../src/engine/engine.ts';
import { span } from './results.ts';
import { type OpenSubject, subjectTests } from './subject.ts';

export function takeCases(name: string, open: OpenSubject): void {
  const test = subjectTests(open);
  describe(`${name}: takes that wait`, () => {
    test('a take that finds an item completes at once', async (asker, { quiet }) => {
      await asker.offer('q', 'a');
      const { keeper } = asker.wait('q', 1000);
      assert.equal((await keeper.answered).value, 'a');
      await quiet();
    });

    test('an offered item is delivered to the waiting take', async (asker, { quiet }) => {
      const { keeper, ticket } = asker.wait('q', 1000);
      await quiet();
      assert.equal(keeper.isAnswered, false);
      assert.notEqual(ticket, NO_TICKET);
      await asker.offer('q', 'a', 't');
      await quiet();
      assert.equal(keeper.seen?.outcome, FOUND);
      assert.equal(keeper.seen.value, 'a');
      assert.equal(keeper.seen.contentType, 't');
      assert.equal((await asker.queueSize('q')).count, 0);
      assert.equal((await asker.poll('q')).outcome, ABSENT);
    });

    test('takes are served in order of arrival, each item once', async (asker, { quiet }) => {
      const waiting = Array.from({ length: 20 }, () => asker.wait('q', 1000));
      for (let index = 0; index < 15; index++) {
        await asker.offer('q', `${index}`);
        if (index % 4 === 0) await quiet();
      }
      await quiet();
      waiting.forEach(({ keeper }, index) => {
        assert.equal(keeper.seen?.value, index < 15 ? `${index}` : undefined);
      });
    });

    test('a cancelled take removes nothing and has no result', async (asker, {
      engine,
      quiet,
      advance,
    }) => {
      const first = asker.wait('q', 1000);
      const second = asker.wait('q', 1000);
      const third = asker.wait('q', 1000);
      engine.cancel(first.ticket);
      const offered = asker.offer('q', 'a');
      engine.cancel(second.ticket);
      await offered;
      await quiet();
      assert.equal(third.keeper.seen?.value, 'a');
      await advance(2000);
      await quiet();
      assert.equal(first.keeper.isAnswered, false);
      assert.equal(second.keeper.isAnswered, false);
    });

    test('an item whose only taker disconnects remains for the next', async (asker, {
      engine,
      quiet,
    }) => {
      const { keeper, ticket } = asker.wait('q', 1000);
      const offered = asker.offer('q', 'a');
      engine.cancel(ticket);
      await offered;
      await quiet();
      assert.equal(keeper.isAnswered, false);
      assert.equal((await asker.poll('q')).value, 'a');
    });

    test('a stale ticket is ignored', async (asker, { engine, quiet }) => {
      const first = asker.wait('q', 1000);
      await asker.offer('q', 'a');
      await quiet();
      const second = asker.wait('q', 1000);
      engine.cancel(first.ticket);
      engine.cancel(NO_TICKET);
      await asker.offer('q', 'b');
      await quiet();
      assert.equal(second.keeper.seen?.value, 'b');
    });

    test('no take overtakes the waiting ones', async (asker, { quiet }) => {
      const { keeper } = asker.wait('q', 1000);
      const answers = [
        asker.offer('q', 'a'),
        asker.take('q'),
        asker.take('q'),
        asker.peek('q'),
        asker.offer('q', 'b'),
        asker.peek('q'),
        asker.take('q'),
      ];
      await quiet();
      assert.equal(keeper.seen?.value, 'a');
      const [, first, second, peek, , secondPeek, third] = await Promise.all(answers);
      assert.equal(first?.outcome, ABSENT);
      assert.equal(second?.outcome, ABSENT);
      assert.equal(peek?.outcome, ABSENT);
      assert.equal(secondPeek?.value, 'b');
      assert.equal(third?.value, 'b');
    });

    test('a take without an item ends with ABSENT when its time is over', async (asker, {
      quiet,
      advance,
      now,
    }) => {
      const begunMs = now();
      const short = asker.wait('q', 1000);
      const long = asker.wait('q', 60_000);
      await advance(900);
      await quiet();
      assert.ok(!short.keeper.isAnswered || now() - begunMs >= 1000);
      await advance(200);
      await quiet();
      assert.equal(short.keeper.seen?.outcome, ABSENT);
      assert.equal(long.keeper.isAnswered, false);
      await asker.offer('q', 'a');
      await quiet();
      assert.equal(long.keeper.seen?.value, 'a');
    });

    test('a take without a timeout does not wait', async (asker) => {
      const { keeper, ticket } = asker.wait('q', 0);
      assert.equal((await keeper.answered).outcome, ABSENT);
      assert.equal(typeof ticket, 'number');
    });

    test('a cancelled take without a timeout was completed before, or removes nothing', async (asker, {
      engine,
      quiet,
    }) => {
      await asker.offer('q', 'a');
      const { keeper, ticket } = asker.wait('q', 0);
      const isAnswered = ticket === NO_TICKET;
      assert.equal(keeper.isAnswered, isAnswered);
      engine.cancel(ticket);
      await quiet();
      assert.equal(keeper.isAnswered, isAnswered);
      assert.equal((await asker.poll('q')).value, isAnswered ? '' : 'a');
    });

    test('a take may wait for (2^31-1) x 1000 ms', async (asker, { quiet }) => {
      const { keeper } = asker.wait('q', (2 ** 31 - 1) * 1000);
      await quiet();
      await asker.offer('q', 'a');
      await quiet();
      assert.equal(keeper.seen?.value, 'a');
    });

    test('many takes on 200 queues get as many items, each once and in order', async (asker, {
      engine,
      many,
      quiet,
    }) => {
      const waiting = Array.from({ length: many }, (_, index) =>
        asker.wait(`q${index % 200}`, 1000),
      );
      const ignored = { onResult: () => {} };
      for (let index = 0; index < many; index++) {
        engine.offer(span(`q${index % 200}`), span(`${index}`), span(''), ignored);
        if (index % 500 === 0) await quiet();
      }
      await quiet();
      waiting.forEach(({ keeper }, index) => {
        assert.equal(keeper.seen?.value, `${index}`);
      });
    });
  });
}
