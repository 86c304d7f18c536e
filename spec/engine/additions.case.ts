/** The contract's guarantees about additions to numbers. Part of the suite in engine.case.ts. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ABSENT, APPLIED, FOREVER, FOUND, NO_NUMBER } from '../../src/engine/engine.ts';
import { type OpenSubject, subjectTests } from './subject.ts';

const LEAST = -(2n ** 63n);
const MOST = 2n ** 63n - 1n;
const IDLE_SECONDS = 3;

export function additionCases(name: string, open: OpenSubject): void {
  const test = subjectTests(open);
  describe(`${name}: additions`, () => {
    test('an addition returns and stores the sum, as text', async (asker) => {
      const made = await asker.add('m', 'k', 5n);
      assert.deepEqual([made.outcome, made.value], [APPLIED, '5']);
      for (const [by, sum] of [
        [-7n, '-2'],
        [2n, '0'],
        [MOST, `${MOST}`],
        [LEAST, '-1'],
        [0n, '-1'],
      ] as const) {
        const { outcome, value, version } = await asker.add('m', 'k', by);
        assert.deepEqual([outcome, value], [APPLIED, sum]);
        const found = await asker.get('m', 'k');
        assert.deepEqual([found.value, found.contentType], [sum, 'text/plain']);
        assert.deepEqual(found.version, version);
      }
      assert.equal((await asker.size('m')).count, 1);
    });

    test('a value that is not a number, or a sum out of range, changes nothing', async (asker) => {
      const values = [
        '',
        '-',
        '+1',
        ' 1',
        '1 ',
        '1.5',
        '1e3',
        '0x1',
        '--1',
        '1-',
        'x'.repeat(70_000),
      ];
      const tooLong = ['10000000000000000000', '-10000000000000000000', `0${MOST}`];
      const outside = [`${MOST + 1n}`, `${LEAST - 1n}`];
      for (const value of [...values, ...tooLong, ...outside]) {
        const { version } = await asker.set('m', 'k', value, 'a/type');
        assert.equal((await asker.add('m', 'k', 1n)).outcome, NO_NUMBER, value.slice(0, 30));
        const found = await asker.get('m', 'k');
        assert.deepEqual([found.value, found.version], [value, version]);
      }
      for (const [value, by] of [
        [`${MOST}`, 1n],
        [`${LEAST}`, -1n],
        ['2', MOST],
        ['-2', LEAST],
      ] as const) {
        await asker.set('m', 'k', value);
        assert.equal((await asker.add('m', 'k', by)).outcome, NO_NUMBER);
        assert.equal((await asker.get('m', 'k')).value, value);
      }
    });

    test('a number may have zeros at its beginning', async (asker) => {
      for (const [value, sum] of [
        ['007', '8'],
        ['-007', '-6'],
        ['-0', '1'],
        ['0000000000000000000', '1'],
        [`${LEAST}`, `${LEAST + 1n}`],
      ] as const) {
        await asker.set('m', 'k', value);
        assert.equal((await asker.add('m', 'k', 1n)).value, sum);
      }
    });

    test('a sum is exact above and below 2^53', async (asker) => {
      const near = [2n ** 53n, 10n ** 16n, 10n ** 15n, 0n].flatMap((at) => [at - 1n, at, at + 1n]);
      for (const value of near) {
        for (const by of near.flatMap((each) => [each, -each])) {
          await asker.set('m', 'k', String(-value));
          assert.equal((await asker.add('m', 'k', by)).value, String(by - value));
        }
      }
    });

    test('content type and lifetime remain, and a new entry has the given lifetime', async (asker, {
      advance,
    }) => {
      const long = { timeToLiveMs: 10_000, maxIdleSeconds: 0 };
      const both = { timeToLiveMs: 20_000, maxIdleSeconds: IDLE_SECONDS };
      await asker.set('m', 'stays', '1', 'application/json');
      await asker.set('m', 'long', '1', `a/${'long '.repeat(20)}type`, long);
      await asker.set('m', 'idle', '1', '', { timeToLiveMs: 0, maxIdleSeconds: IDLE_SECONDS });
      await asker.set('m', 'both', '1', 'b/type', both);
      for (let seconds = 0; seconds < 5; seconds++) {
        await advance(1000);
        for (const key of ['stays', 'long', 'idle', 'both']) await asker.add('m', key, 1n, long);
      }
      await asker.add('m', 'new', 6n, long);
      const seen = new Map<string, readonly unknown[]>();
      for (const key of ['stays', 'long', 'idle', 'both', 'new']) {
        const { value, contentType, timeToLiveMs, maxIdleSeconds } = await asker.get('m', key);
        seen.set(key, [value, contentType, Math.ceil(timeToLiveMs / 5000), maxIdleSeconds]);
      }
      assert.deepEqual(Object.fromEntries(seen), {
        stays: ['6', 'application/json', 0, 0],
        long: ['6', `a/${'long '.repeat(20)}type`, 1, 0],
        idle: ['6', '', 0, IDLE_SECONDS],
        both: ['6', 'b/type', 3, IDLE_SECONDS],
        new: ['6', 'text/plain', 2, 0],
      });
      await advance((IDLE_SECONDS + 3) * 1000);
      for (const [key, outcome] of [
        ['stays', FOUND],
        ['long', ABSENT],
        ['idle', ABSENT],
        ['both', ABSENT],
        ['new', FOUND],
      ] as const) {
        assert.equal((await asker.get('m', key)).outcome, outcome, key);
      }
      assert.equal((await asker.add('m', 'both', 1n, FOREVER)).value, '1');
    });

    test('no addition is lost among many at a time', async (asker) => {
      const sums = await Promise.all(
        Array.from({ length: 300 }, (_, index) => asker.add('m', `k${index % 3}`, BigInt(index))),
      );
      assert.ok(sums.every(({ outcome }) => outcome === APPLIED));
      for (const [key, sum] of [
        ['k0', 14_850],
        ['k1', 14_950],
        ['k2', 15_050],
      ] as const) {
        assert.equal((await asker.get('m', key)).value, `${sum}`);
      }
    });
  });
}
