/**
 * The contract's guarantees about results, their receivers, and a closed engine. Part of the suite
 * in engine.case.ts.
 */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { NO_PARTITION } from '../../src/base/partition-number.ts';
import type { Pin } from '../../src/base/pin.ts';
import {
  ABSENT,
  APPLIED,
  CLOSED,
  FOREVER,
  UNREACHABLE,
  VALUE_COPY_BYTES_MAX,
} from '../../src/engine/engine.ts';
import { copied, Keeper, span } from './results.ts';
import { type OpenSubject, subjectTests } from './subject.ts';

export function answerCases(name: string, open: OpenSubject): void {
  const test = subjectTests(open);
  describe(`${name}: results`, () => {
    test('a receiver may call the engine, and its own result does not change', async (asker, {
      engine,
      many,
      quiet,
    }) => {
      await asker.set('m', 'k', 'before', 'old/type');
      const inner = new Keeper();
      const seen: unknown[] = [];
      const outer = new Keeper((answer) => {
        const before = copied(answer);
        const value = span('after!');
        const type = span('new/type');
        engine.set(span('m'), span('k'), value, type, FOREVER, undefined, inner);
        for (let index = 0; index < many; index++) {
          engine.set(
            span('n'),
            span(`${index}`),
            span('x'.repeat(500)),
            span(''),
            FOREVER,
            undefined,
            new Keeper(),
          );
          engine.delete(span('n'), span(`${index}`), undefined, new Keeper());
        }
        seen.push(before, copied(answer));
      });
      engine.get(span('m'), span('k'), outer);
      await quiet();
      await outer.answered;
      assert.deepEqual(seen[1], seen[0]);
      assert.equal((await inner.answered).outcome, APPLIED);
      assert.equal((await asker.get('m', 'k')).value, 'after!');
    });

    test('a taken value remains until its receiver returns', async (asker, { engine, quiet }) => {
      await asker.offer('q', 'item', 'some/type');
      const seen: string[] = [];
      const keeper = new Keeper((answer) => {
        for (let index = 0; index < 100; index++) {
          engine.offer(span('q'), span('another'), span('other/type'), new Keeper());
        }
        seen.push(copied(answer).value, copied(answer).contentType);
      });
      engine.take(span('q'), 0, keeper);
      await quiet();
      await keeper.answered;
      assert.deepEqual(seen, ['item', 'some/type']);
    });

    test('a pinned value remains, whatever happens to its entry', async (asker, {
      engine,
      quiet,
    }) => {
      const length = VALUE_COPY_BYTES_MAX + 1;
      await asker.set('m', 'k', 'a'.repeat(length));
      const pins: Pin[] = [];
      const pinned = span('');
      for (let count = 0; count < 2; count++) {
        const keeper = new Keeper((answer) => {
          pins.push(answer.pin());
          pinned.copyFrom(answer.value);
        });
        engine.get(span('m'), span('k'), keeper);
        await keeper.answered;
      }
      await asker.set('m', 'k', 'b'.repeat(length));
      await asker.set('m', 'k', 'c'.repeat(length));
      await asker.delete('m', 'k');
      for (let index = 0; index < 10; index++) await asker.set('m', `${index}`, 'd'.repeat(length));
      await quiet();
      assert.equal(pinned.toBuffer().toString('latin1'), 'a'.repeat(length));
      for (const pin of pins) pin.release();
    });
  });

  describe(`${name}: close`, () => {
    test('ends waiting takes with ABSENT, and later operations with UNREACHABLE', async (asker, {
      engine,
      quiet,
    }) => {
      await asker.set('m', 'k', 'v');
      await asker.offer('q', 'a');
      const { hold } = await asker.take('q');
      const waiting = asker.wait('other', 1000);
      await quiet();
      assert.equal(engine.isReachable, true);
      const closed = engine.close();
      assert.equal(waiting.keeper.seen?.outcome, ABSENT);
      await closed;
      assert.equal(engine.isReachable, false);
      const later = await Promise.all([
        asker.get('m', 'k'),
        asker.set('m', 'k', 'v'),
        asker.delete('m', 'k'),
        asker.clear('m'),
        asker.size('m'),
        asker.offer('q', 'a'),
        asker.peek('q'),
        asker.queueSize('q'),
        asker.take('q'),
        asker.acknowledge(hold, true),
        asker.acknowledge(hold, false),
        asker.wait('q', 1000).keeper.answered,
      ]);
      for (const answer of later) {
        assert.equal(answer.outcome, UNREACHABLE);
        assert.equal(answer.reason, CLOSED);
        assert.equal(answer.partition, NO_PARTITION);
      }
      engine.cancel(waiting.ticket);
      await engine.close();
    });
  });
}
