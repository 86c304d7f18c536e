import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { APPLIED, type Lifetime, MEMORY_FULL } from '../../../src/engine/engine.ts';
import { span } from '../results.ts';
import {
  assertEmpty,
  componentsOf,
  entriesOf,
  findEntry,
  setEntry,
  type TestComponents,
} from './components-of.ts';

function lived(timeToLiveMs: number, maxIdleSeconds = 0): Lifetime {
  return { timeToLiveMs, maxIdleSeconds };
}

function set({ components }: TestComponents, key: string, lifetime: Lifetime, bytes = 5): number {
  const value = Buffer.alloc(bytes, 'v');
  return setEntry(components, 'm', key, value, 'a/type', lifetime);
}

function has({ components }: TestComponents, key: string): boolean {
  return findEntry(components, 'm', key) !== 0;
}

/** Returns the bytes of an entry with a max idle that is written at this time, in ms since 1970. */
function bytesAt(wallMs: number): number | undefined {
  const test = componentsOf(1);
  test.clock.setWall(wallMs);
  set(test, 'k', lived(100_000, 2 ** 31 - 1));
  const { store } = test.components;
  return store.partition(0)?.log.liveBytes;
}

describe('Expiry', () => {
  it('an entry exists up to the end of its time to live, not after', () => {
    const test = componentsOf(3);
    set(test, 'a', lived(1000));
    set(test, 'b', lived(1001));
    set(test, 'c', lived(0));
    test.clock.advance(999);
    assert.ok(has(test, 'a'));
    // The sweep runs later; an entry that is read is removed before it.
    test.components.sweeper.close();
    test.clock.advance(1);
    assert.ok(!has(test, 'a'));
    assert.ok(has(test, 'b'));
    assert.ok(has(test, 'c'));
    test.clock.advance(1);
    assert.equal(test.components.maps.size(span('m')), 1);
    assert.ok(!has(test, 'b'));
  });

  it('reading does not extend a time to live, but does extend a max idle, to the second', () => {
    const test = componentsOf(3);
    set(test, 'ttl', lived(10_000));
    set(test, 'idle', lived(0, 10));
    set(test, 'both', lived(25_000, 10));
    set(test, 'unread', lived(0, 10));
    for (let second = 0; second < 9; second++) {
      test.clock.advance(1000);
      for (const key of ['ttl', 'idle', 'both']) assert.ok(has(test, key));
    }
    test.clock.advance(2000);
    assert.ok(!has(test, 'ttl'));
    assert.ok(!has(test, 'unread'));
    for (let second = 11; second < 24; second++) {
      assert.ok(has(test, 'idle') && has(test, 'both'), `${second}`);
      test.clock.advance(1000);
    }
    test.clock.advance(2000);
    assert.ok(has(test, 'idle'));
    assert.ok(!has(test, 'both'));
    test.clock.advance(12_000);
    assert.ok(!has(test, 'idle'));
  });

  it('a max idle ends correctly in years whose seconds have 33 bits, in cells of equal size', () => {
    // 2038-01-19, 2106-02-07 and 2242-03-16 have the last seconds of 31, 32 and 33 bits.
    for (const seconds of [2 ** 31, 2 ** 32, 2 ** 32 + 2 ** 31, 2 ** 33 - 60]) {
      for (const before of [20, 5, 0]) {
        assert.equal(bytesAt((seconds - before) * 1000), bytesAt(1_700_000_000_000));
        const test = componentsOf(3);
        test.clock.setWall((seconds - before) * 1000);
        set(test, 'read', lived(0, 10));
        set(test, 'unread', lived(0, 10));
        set(test, 'longest', lived(0, 2 ** 31 - 1));
        for (let second = 0; second < 10; second++) {
          test.clock.advance(1000);
          assert.ok(has(test, 'read'), `${second} after ${seconds} - ${before}`);
        }
        assert.equal(test.components.maps.size(span('m')), 3);
        test.clock.advance(5000);
        assert.equal(test.components.maps.size(span('m')), 2);
        assert.ok(has(test, 'read'));
        test.clock.advance(15_000);
        assert.equal(test.components.maps.size(span('m')), 1);
        assert.ok(has(test, 'longest'));
      }
    }
  });

  it('entries that are not read are also removed, with their memory, and leave no timer', () => {
    const test = componentsOf(7);
    for (let index = 0; index < 20_000; index++) {
      set(test, `k${index}`, lived(1000 + (index % 60_000)), index % 200);
    }
    assert.ok(entriesOf(test.components) > 20_000);
    test.clock.advance(10_000);
    const left = entriesOf(test.components);
    assert.ok(left > 5000 && left < 15_000, `${left} left`);
    assert.equal(test.components.maps.size(span('m')), 20_000 - 9001);
    test.clock.advance(60_000);
    assertEmpty(test.components.store);
    assert.equal(test.components.maps.size(span('m')), 0);
    assert.equal(test.clock.timerCount, 0);
  });

  it('a clear also removes entries with lifetimes', () => {
    const test = componentsOf(3);
    for (let index = 0; index < 1000; index++) set(test, `k${index}`, lived(50));
    test.components.clears.clear(span('m'));
    for (let index = 0; index < 10; index++) set(test, `k${index}`, lived(0));
    test.clock.advance(120_000);
    assert.equal(test.components.maps.size(span('m')), 10);
    for (let index = 0; index < 10; index++) assert.ok(has(test, `k${index}`));
    assert.equal(test.clock.timerCount, 0);
  });

  it('follows a wall clock that is set', () => {
    const test = componentsOf(3);
    set(test, 'a', lived(3_600_000));
    test.clock.setWall(test.clock.wall() + 3_600_000);
    assert.ok(!has(test, 'a'));
    set(test, 'b', lived(1000));
    test.clock.setWall(test.clock.wall() - 3_600_000);
    test.clock.advance(10_000);
    assert.ok(has(test, 'b'));
  });

  it('a write without memory gets the memory of expired entries', () => {
    const test = componentsOf(1, { memoryBytesMax: 2_000_000 });
    let count = 0;
    while (set(test, `k${count}`, lived(100), 1000) === APPLIED) count++;
    assert.equal(set(test, 'another', lived(0), 1000), MEMORY_FULL);
    test.components.sweeper.close();
    test.clock.advance(100);
    for (let index = 0; index < count; index++) {
      assert.equal(set(test, `another ${index}`, lived(0), 1000), APPLIED, `${index} of ${count}`);
    }
  });
});
