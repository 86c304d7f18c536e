/**
 * The contract's guarantees about the lifetimes of entries. Part of the suite in engine.case.ts.
 */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ABSENT, APPLIED, FOREVER, FOUND, NOT_COUNTED } from '../../src/engine/engine.ts';
import { type OpenSubject, subjectTests } from './subject.ts';

const SHORT = { timeToLiveMs: 100, maxIdleSeconds: 0 };
const LONG = { timeToLiveMs: 3_600_000, maxIdleSeconds: 0 };
const LONGEST = { timeToLiveMs: 2 ** 52, maxIdleSeconds: 2 ** 31 - 1 };
const IDLE_SECONDS = 3;

export function lifetimeCases(name: string, open: OpenSubject): void {
  const test = subjectTests(open);
  describe(`${name}: lifetimes`, () => {
    test('an entry whose time to live is over is neither found nor counted', async (asker, {
      advance,
    }) => {
      for (let index = 0; index < 50; index++) {
        await asker.set('m', `short ${index}`, 'v', '', SHORT);
        await asker.set('m', `long ${index}`, 'v', 'a/type', LONG);
      }
      await advance(200);
      assert.equal((await asker.size('m')).count, 50);
      for (let index = 0; index < 50; index++) {
        assert.equal((await asker.get('m', `short ${index}`)).outcome, ABSENT);
        const { outcome, value, contentType } = await asker.get('m', `long ${index}`);
        assert.deepEqual([outcome, value, contentType], [FOUND, 'v', 'a/type']);
      }
      assert.equal((await asker.size('m')).count, 50);
    });

    test('a set gives the entry its own lifetime, whatever the former one was', async (asker, {
      advance,
    }) => {
      await asker.set('m', 'stays', 'v', '', SHORT);
      await asker.set('m', 'stays', 'w', '', FOREVER);
      await asker.set('m', 'longer', 'v', '', SHORT);
      await asker.set('m', 'longer', 'w', '', LONG);
      await asker.set('m', 'ends', 'v', '', LONG);
      await asker.set('m', 'ends', 'w', '', SHORT);
      await advance(200);
      assert.equal((await asker.size('m')).count, 2);
      assert.equal((await asker.get('m', 'stays')).value, 'w');
      assert.equal((await asker.get('m', 'longer')).value, 'w');
      assert.equal((await asker.get('m', 'ends')).outcome, ABSENT);
    });

    test('an expired entry may be set again, and deleted', async (asker, { advance }) => {
      await asker.set('m', 'k', 'v', '', SHORT);
      await asker.set('m', 'l', 'v', '', SHORT);
      await advance(200);
      assert.equal((await asker.set('m', 'k', 'w')).outcome, APPLIED);
      assert.equal((await asker.delete('m', 'l')).outcome, APPLIED);
      assert.equal((await asker.get('m', 'k')).value, 'w');
      assert.equal((await asker.size('m')).count, 1);
      await asker.set('m', 'k', 'x', '', SHORT);
      await advance(200);
      assert.equal((await asker.clear('m')).outcome, APPLIED);
      assert.equal((await asker.size('m')).count, 0);
    });

    test('a lifetime may have the maximum length', async (asker, { advance }) => {
      await asker.set('m', 'k', 'v', 'a/type', LONGEST);
      await advance(100);
      const { value, contentType } = await asker.get('m', 'k');
      assert.deepEqual([value, contentType], ['v', 'a/type']);
      assert.equal((await asker.size('m')).count, 1);
    });

    test('an engine that counts the bytes of a map counts those of present entries', async (asker, {
      advance,
    }) => {
      const bytesOf = async () => (await asker.size('m')).bytes;
      if ((await bytesOf()) === NOT_COUNTED) return;
      assert.equal(await bytesOf(), 0);
      await asker.set('m', 'k', 'v'.repeat(1000));
      const one = await bytesOf();
      assert.ok(one > 1000 && one < 1100, `${one}`);
      await asker.set('m', 'l', 'v'.repeat(1000));
      assert.equal(await bytesOf(), 2 * one);
      await asker.set('m', 'k', 'v'.repeat(1000), '', SHORT);
      await advance(200);
      assert.equal(await bytesOf(), one);
      await asker.set('m', 'l', 'v'.repeat(3000));
      assert.equal(await bytesOf(), one + 2000);
      await asker.set('m', 'n', 'v');
      await asker.delete('m', 'l');
      assert.ok((await bytesOf()) < 100);
      await asker.clear('m');
      assert.equal(await bytesOf(), 0);
      assert.equal((await asker.get('m', 'n')).bytes, NOT_COUNTED);
    });

    test('a get returns the time left to live, and the max idle', async (asker, { advance }) => {
      const of = async (key: string): Promise<readonly number[]> => {
        const { timeToLiveMs, maxIdleSeconds } = await asker.get('m', key);
        return [timeToLiveMs, maxIdleSeconds];
      };
      await asker.set('m', 'stays', 'v');
      await asker.set('m', 'long', 'v', '', LONG);
      await asker.set('m', 'idle', 'v', '', { timeToLiveMs: 0, maxIdleSeconds: 60 });
      await asker.set('m', 'both', 'v', '', { ...LONG, maxIdleSeconds: 60 });
      await advance(1000);
      assert.deepEqual(
        [await of('stays'), await of('idle')],
        [
          [0, 0],
          [0, 60],
        ],
      );
      for (const [key, idle] of [
        ['long', 0],
        ['both', 60],
      ] as const) {
        const [leftMs = 0, maxIdleSeconds] = await of(key);
        assert.ok(leftMs <= LONG.timeToLiveMs - 900 && leftMs > LONG.timeToLiveMs / 2, `${leftMs}`);
        assert.equal(maxIdleSeconds, idle);
      }
      assert.deepEqual(await of('none'), [0, 0]);
    });

    test('an entry with a max idle remains while it is read, and expires otherwise', async (asker, {
      advance,
    }) => {
      const lifetime = { timeToLiveMs: 0, maxIdleSeconds: IDLE_SECONDS };
      await asker.set('m', 'read', 'v', 'a/type', lifetime);
      await asker.set('m', 'idle', 'v', '', lifetime);
      for (let count = 0; count < 2 * IDLE_SECONDS; count++) {
        await advance(900);
        const { value, contentType } = await asker.get('m', 'read');
        assert.deepEqual([value, contentType], ['v', 'a/type']);
      }
      assert.equal((await asker.get('m', 'idle')).outcome, ABSENT);
      assert.equal((await asker.size('m')).count, 1);
      await advance((IDLE_SECONDS + 1) * 1000);
      assert.equal((await asker.size('m')).count, 0);
      assert.equal((await asker.get('m', 'read')).outcome, ABSENT);
    });

    test('no read keeps an entry beyond its time to live, nor changes its version', async (asker, {
      advance,
    }) => {
      const lifetime = { timeToLiveMs: 4000, maxIdleSeconds: IDLE_SECONDS };
      const { version } = await asker.set('m', 'k', 'v', '', lifetime);
      await advance(1500);
      assert.deepEqual((await asker.get('m', 'k')).version, version);
      const again = await asker.get('m', 'k');
      assert.deepEqual([again.value, again.version], ['v', version]);
      await advance(2800);
      assert.equal((await asker.get('m', 'k')).outcome, ABSENT);
      assert.equal((await asker.size('m')).count, 0);
    });
  });
}
