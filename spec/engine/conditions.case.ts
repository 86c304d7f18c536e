/**
 * The contract's guarantees about versions, and about conditional changes. Part of engine.case.ts.
 */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ABSENT, APPLIED, CONDITION_FAILED, FOUND } from '../../src/engine/engine.ts';
import { Version } from '../../src/engine/version.ts';
import { type OpenSubject, subjectTests } from './subject.ts';

/** Condition of absence: no version. */
const NONE = new Version();

export function conditionCases(name: string, open: OpenSubject): void {
  const test = subjectTests(open);
  describe(`${name}: versions and conditions`, () => {
    test('an entry has the version that its set returned, a new one each time', async (asker) => {
      const seen = new Set<string>();
      for (let index = 0; index < 100; index++) {
        const { version } = await asker.set('m', `k${index % 7}`, `${index}`);
        assert.equal(version.isNone, false);
        assert.deepEqual((await asker.get('m', `k${index % 7}`)).version, version);
        seen.add(`${version.high} ${version.low}`);
      }
      assert.equal(seen.size, 100);
    });

    test('there is no version without an entry, nor for other operations', async (asker) => {
      await asker.set('m', 'k', 'v');
      const deleted = await asker.delete('m', 'k');
      await asker.offer('q', 'item');
      const others = [
        deleted,
        await asker.get('m', 'k'),
        await asker.size('m'),
        await asker.peek('q'),
        await asker.take('q'),
        await asker.clear('m'),
      ];
      for (const { version } of others) assert.deepEqual(version, NONE);
    });

    test('a set on a version succeeds only for that version', async (asker) => {
      const first = await asker.set('m', 'k', 'first', 'a/type');
      const second = await asker.setIf('m', 'k', 'second', first.version);
      assert.equal(second.outcome, APPLIED);
      const failed = await asker.setIf('m', 'k', 'third', first.version);
      assert.equal(failed.outcome, CONDITION_FAILED);
      assert.deepEqual(failed.version, second.version);
      assert.equal(failed.value, '');
      const { value, version } = await asker.get('m', 'k');
      assert.equal(value, 'second');
      assert.deepEqual(version, second.version);
      assert.equal((await asker.setIf('m', 'k', 'third', second.version)).outcome, APPLIED);
    });

    test('a set that requires absence succeeds once', async (asker) => {
      const made = await asker.setIf('m', 'k', 'first', NONE);
      assert.equal(made.outcome, APPLIED);
      const failed = await asker.setIf('m', 'k', 'second', NONE);
      assert.equal(failed.outcome, CONDITION_FAILED);
      assert.deepEqual(failed.version, made.version);
      assert.equal((await asker.get('m', 'k')).value, 'first');
      await asker.delete('m', 'k');
      assert.equal((await asker.setIf('m', 'k', 'second', NONE)).outcome, APPLIED);
      await asker.clear('m');
      assert.equal((await asker.setIf('m', 'k', 'third', NONE)).outcome, APPLIED);
    });

    test('a set on a version fails if there is no entry', async (asker) => {
      const { version } = await asker.set('m', 'k', 'v');
      await asker.delete('m', 'k');
      for (const [map, key] of [
        ['m', 'k'],
        ['m', 'other'],
        ['other', 'k'],
      ] as const) {
        const failed = await asker.setIf(map, key, 'w', version);
        assert.equal(failed.outcome, CONDITION_FAILED);
        assert.deepEqual(failed.version, NONE);
        assert.equal((await asker.get(map, key)).outcome, ABSENT);
      }
      assert.equal((await asker.size('m')).count, 0);
      assert.equal((await asker.size('other')).count, 0);
    });

    test('a delete on a version succeeds only for that version', async (asker) => {
      const first = await asker.set('m', 'k', 'first');
      const second = await asker.set('m', 'k', 'second');
      const failed = await asker.delete('m', 'k', first.version);
      assert.equal(failed.outcome, CONDITION_FAILED);
      assert.deepEqual(failed.version, second.version);
      assert.equal((await asker.delete('m', 'k', NONE)).outcome, CONDITION_FAILED);
      assert.equal((await asker.get('m', 'k')).value, 'second');
      assert.equal((await asker.delete('m', 'k', second.version)).outcome, APPLIED);
      assert.equal((await asker.get('m', 'k')).outcome, ABSENT);
      const gone = await asker.delete('m', 'k', second.version);
      assert.equal(gone.outcome, CONDITION_FAILED);
      assert.deepEqual(gone.version, NONE);
      assert.equal((await asker.delete('m', 'k', NONE)).outcome, APPLIED);
    });

    test('an expired entry is absent', async (asker, { advance }) => {
      const lifetime = { timeToLiveMs: 100, maxIdleSeconds: 0 };
      const short = await asker.set('m', 'k', 'v', '', lifetime);
      const other = await asker.set('m', 'l', 'v', '', lifetime);
      await asker.set('m', 'stays', 'v');
      await advance(200);
      const failed = await asker.setIf('m', 'k', 'w', short.version);
      assert.equal(failed.outcome, CONDITION_FAILED);
      assert.deepEqual(failed.version, NONE);
      assert.equal((await asker.delete('m', 'l', other.version)).outcome, CONDITION_FAILED);
      assert.equal((await asker.setIf('m', 'k', 'w', NONE)).outcome, APPLIED);
      assert.equal((await asker.get('m', 'k')).value, 'w');
      assert.equal((await asker.size('m')).count, 2);
    });

    test('of many sets on one version, one succeeds', async (asker) => {
      let { version } = await asker.set('m', 'k', '0');
      for (let round = 0; round < 20; round++) {
        const answers = await Promise.all(
          Array.from({ length: 5 }, (_, index) =>
            asker.setIf('m', 'k', `${round} ${index}`, version),
          ),
        );
        const made = answers.filter(({ outcome }) => outcome === APPLIED);
        assert.equal(made.length, 1);
        version = made[0]!.version;
        const found = await asker.get('m', 'k');
        assert.equal(found.outcome, FOUND);
        assert.deepEqual(found.version, version);
      }
    });

    test('a condition may list versions, each part of which must hold', async (asker) => {
      const { version: former } = await asker.set('m', 'k', 'v');
      const { version } = await asker.set('m', 'k', 'v');
      const { version: other } = await asker.set('m', 'l', 'v');
      const many = Array.from({ length: 14 }, (_, index) => new Version().set(index + 1, 1));
      for (const [condition, ofEntry, ofNone] of [
        [{}, true, true],
        [{ isPresent: true }, true, false],
        [{ isPresent: false }, false, true],
        [{ oneOf: [] }, false, false],
        [{ oneOf: [former, version] }, true, false],
        [{ oneOf: [...many, other, version] }, true, false],
        [{ oneOf: [...many, other, former] }, false, false],
        [{ noneOf: [] }, true, true],
        [{ noneOf: [former, other, ...many] }, true, true],
        [{ noneOf: [...many, former, version] }, false, true],
        [{ isPresent: true, noneOf: [former] }, true, false],
        [{ isPresent: false, noneOf: [former] }, false, true],
        [{ isPresent: true, oneOf: [version], noneOf: [version] }, false, false],
      ] as const) {
        const text = JSON.stringify(condition);
        for (const [key, isMet] of [
          ['k', ofEntry],
          ['none', ofNone],
        ] as const) {
          const expected = isMet ? APPLIED : CONDITION_FAILED;
          const set = await asker.setIf('m', key, 'w', condition);
          assert.equal(set.outcome, expected, `set of ${key} on ${text}`);
          assert.equal(set.wasPresent, isMet && key === 'k', `${key} ${text}`);
          if (!isMet) assert.deepEqual(set.version, key === 'k' ? version : NONE);
          else if (key === 'k') version.copyFrom(set.version);
          else await asker.delete('m', key);
          if (isMet && key === 'k') continue;
          const deleted = await asker.delete('m', key, condition);
          assert.equal(deleted.outcome, expected, `delete of ${key} on ${text}`);
        }
      }
    });

    test('only a set on a condition returns whether it replaced an entry', async (asker, {
      advance,
    }) => {
      const lifetime = { timeToLiveMs: 1000, maxIdleSeconds: 0 };
      const seen = [
        await asker.set('m', 'k', 'v', '', lifetime, {}),
        await asker.set('m', 'k', 'v', '', lifetime, {}),
        await asker.set('m', 'k', 'v', '', lifetime, { isPresent: true }),
        await asker.set('m', 'k', 'v'),
        await asker.get('m', 'k'),
        await asker.delete('m', 'k', { isPresent: true }),
        await asker.set('m', 'k', 'v', '', lifetime, { isPresent: false }),
      ].map(({ wasPresent }) => wasPresent);
      assert.deepEqual(seen, [false, true, true, false, false, false, false]);
      await advance(2000);
      assert.equal((await asker.setIf('m', 'k', 'v', { noneOf: [] })).outcome, APPLIED);
    });

    test('a condition is read during the call', async (asker) => {
      const { version } = await asker.set('m', 'k', 'v');
      const condition = new Version().copyFrom(version);
      const set = asker.setIf('m', 'k', 'w', condition);
      condition.clear();
      assert.equal((await set).outcome, APPLIED);
      condition.copyFrom((await set).version);
      const deleted = asker.delete('m', 'k', condition);
      condition.clear();
      assert.equal((await deleted).outcome, APPLIED);
      assert.equal((await asker.get('m', 'k')).outcome, ABSENT);
    });
  });
}
