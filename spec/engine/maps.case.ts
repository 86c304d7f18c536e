/** The contract's guarantees about maps. Part of the suite in engine.case.ts. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  ABSENT,
  APPLIED,
  CONDITION_FAILED,
  COUNTED,
  FOREVER,
  FOUND,
} from '../../src/engine/engine.ts';
import { Keeper, span } from './results.ts';
import { type OpenSubject, subjectTests } from './subject.ts';

export function mapCases(name: string, open: OpenSubject): void {
  const test = subjectTests(open);
  describe(`${name}: maps`, () => {
    test('get returns the value that set stored, with its content type', async (asker) => {
      assert.equal((await asker.set('m', 'k', 'value', 'text/plain')).outcome, APPLIED);
      const answer = await asker.get('m', 'k');
      assert.equal(answer.outcome, FOUND);
      assert.equal(answer.value, 'value');
      assert.equal(answer.contentType, 'text/plain');
    });

    test('get returns ABSENT for an unknown map, an unknown key and a deleted one', async (asker) => {
      assert.equal((await asker.get('m', 'k')).outcome, ABSENT);
      await asker.set('m', 'k', 'v');
      assert.equal((await asker.get('m', 'other')).outcome, ABSENT);
      assert.equal((await asker.get('other', 'k')).outcome, ABSENT);
      await asker.delete('m', 'k');
      const answer = await asker.get('m', 'k');
      assert.equal(answer.outcome, ABSENT);
      assert.equal(answer.value, '');
      assert.equal(answer.contentType, '');
    });

    test('set replaces value and content type, whatever their lengths were', async (asker) => {
      const values = ['', 'a', 'a'.repeat(100), 'b'.repeat(99), 'c'.repeat(70_000), 'd', ''];
      for (const [index, value] of values.entries()) {
        const contentType = index % 2 === 0 ? `type/${index}` : '';
        await asker.set('m', 'k', value, contentType);
        const answer = await asker.get('m', 'k');
        assert.equal(answer.value, value);
        assert.equal(answer.contentType, contentType);
        assert.equal((await asker.size('m')).count, 1);
      }
    });

    test('keys are bytes of any content and length', async (asker) => {
      const keys = ['', '\0', '\0\0', '\0\0\0\0', '\xff', 'a', 'a\0', 'k'.repeat(6000), 'ä€'];
      for (const key of keys) await asker.set('m', Buffer.from(key), `of ${key}`);
      assert.equal((await asker.size('m')).count, keys.length);
      for (const key of keys) {
        assert.equal(
          (await asker.get('m', Buffer.from(key))).value,
          Buffer.from(`of ${key}`, 'latin1').toString('latin1'),
        );
      }
    });

    test('maps are separate, even with equal keys, and names are bytes', async (asker) => {
      const maps = ['a', 'b', 'a\0', '\0', 'x'.repeat(3000), ''];
      for (const map of maps) await asker.set(map, 'k', `in ${map}`);
      await asker.delete('b', 'k');
      for (const map of maps) {
        const answer = await asker.get(map, 'k');
        assert.equal(answer.outcome, map === 'b' ? ABSENT : FOUND);
        if (map !== 'b') assert.equal(answer.value, `in ${map}`);
        assert.equal((await asker.size(map)).count, map === 'b' ? 0 : 1);
      }
    });

    test('a map and a queue of one name are separate', async (asker) => {
      await asker.set('n', 'k', 'entry');
      await asker.offer('n', 'item');
      await asker.clear('n');
      assert.equal((await asker.queueSize('n')).count, 1);
      assert.equal((await asker.poll('n')).value, 'item');
    });

    test('delete is APPLIED whether or not the entry existed', async (asker) => {
      assert.equal((await asker.delete('m', 'k')).outcome, APPLIED);
      await asker.set('m', 'k', 'v');
      assert.equal((await asker.delete('m', 'k')).outcome, APPLIED);
      assert.equal((await asker.delete('m', 'k')).outcome, APPLIED);
      assert.equal((await asker.size('m')).count, 0);
    });

    test('size counts entries', async (asker) => {
      const empty = await asker.size('m');
      assert.equal(empty.outcome, COUNTED);
      assert.equal(empty.count, 0);
      for (let index = 0; index < 100; index++) await asker.set('m', `k${index}`, 'v');
      for (let index = 0; index < 100; index += 2) await asker.delete('m', `k${index}`);
      await asker.set('m', 'k1', 'again');
      assert.equal((await asker.size('m')).count, 50);
    });

    test('clear removes all entries of the map and no others', async (asker) => {
      for (let index = 0; index < 100; index++) {
        await asker.set('m', `k${index}`, 'v');
        await asker.set('n', `k${index}`, 'w');
      }
      assert.equal((await asker.clear('m')).outcome, APPLIED);
      assert.equal((await asker.size('m')).count, 0);
      assert.equal((await asker.get('m', 'k7')).outcome, ABSENT);
      assert.equal((await asker.size('n')).count, 100);
      await asker.set('m', 'k7', 'new');
      assert.equal((await asker.size('m')).count, 1);
      assert.equal((await asker.get('m', 'k7')).value, 'new');
      assert.equal((await asker.get('m', 'k8')).outcome, ABSENT);
    });

    test('the operations on the reserved map are those on any other', async (asker, {
      advance,
    }) => {
      const long = { timeToLiveMs: 3_600_000, maxIdleSeconds: 60 };
      for (const map of ['', 'm']) {
        await asker.set(map, 'short', 'v', '', { timeToLiveMs: 100, maxIdleSeconds: 0 });
        const first = await asker.set(map, 'k', 'v', 'a/b', long);
        assert.equal((await asker.set(map, 'k', 'w', '', long, first.version)).outcome, APPLIED);
        assert.equal((await asker.delete(map, 'k', first.version)).outcome, CONDITION_FAILED);
        const { value, maxIdleSeconds } = await asker.get(map, 'k');
        assert.deepEqual([value, maxIdleSeconds], ['w', 60]);
        assert.equal((await asker.add(map, 'n', 7n, long)).value, '7');
        assert.equal((await asker.add(map, 'n', -8n)).value, '-1');
      }
      await advance(1000);
      for (const map of ['', 'm']) {
        assert.equal((await asker.get(map, 'short')).outcome, ABSENT);
        assert.equal((await asker.size(map)).count, 2);
        await asker.delete(map, 'n', { isPresent: true });
        assert.equal((await asker.size(map)).count, 1);
      }
      await asker.clear('');
      assert.deepEqual([(await asker.size('')).count, (await asker.size('m')).count], [0, 1]);
    });

    test('a value of 16 MiB is returned byte for byte', async (asker) => {
      const value = Buffer.alloc(16 * 1024 * 1024, 'abcdefg');
      await asker.set('m', 'k', value);
      const keeper = new Keeper((answer) =>
        assert.equal(answer.value.toBuffer().compare(value), 0),
      );
      asker.engine.get(span('m'), span('k'), keeper);
      assert.equal((await keeper.answered).outcome, FOUND);
    });

    test('arguments may change as soon as the call has returned', async (asker) => {
      const bytes = Buffer.from('mapkeyvaluetype');
      const at = (start: number, end: number) => span('').set(bytes, start, end);
      const keeper = new Keeper();
      const map = at(0, 3);
      const key = at(3, 6);
      const value = at(6, 11);
      const type = at(11, 15);
      asker.engine.set(map, key, value, type, FOREVER, undefined, keeper);
      bytes.fill('x');
      await keeper.answered;
      const answer = await asker.get('map', 'key');
      assert.equal(answer.value, 'value');
      assert.equal(answer.contentType, 'type');
    });
  });
}
