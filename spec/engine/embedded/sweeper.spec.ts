import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertInvariants } from '../../../src/engine/embedded/engine-invariants.ts';
import { span } from '../results.ts';
import {
  assertEmpty,
  componentsOf,
  entriesOf,
  findEntry,
  setEntry,
  type TestComponents,
} from './components-of.ts';

function fill({ components }: TestComponents, map: string, count: number): void {
  for (let index = 0; index < count; index++) {
    setEntry(components, map, `key ${index}`, 'value', 'a/type');
  }
}

describe('Sweeper', () => {
  it('removes the entries of cleared maps, and then leaves no timer', () => {
    const test = componentsOf(5);
    fill(test, 'm', 5000);
    fill(test, 'n', 100);
    const before = entriesOf(test.components);
    test.components.clears.clear(span('m'));
    assert.ok(test.components.sweeper.isClearing);
    assert.ok(entriesOf(test.components) >= before - 100);
    test.clock.advance(10_000);
    assert.ok(!test.components.sweeper.isClearing);
    assert.equal(test.clock.timerCount, 0);
    // 100 entries, the name of their map, and the name of their content type.
    assert.equal(entriesOf(test.components), 102);
    assert.equal(test.components.maps.size(span('n')), 100);
    test.components.clears.clear(span('n'));
    test.clock.advance(10_000);
    assertEmpty(test.components.store);
  });

  it('does its share with every write to a partition', () => {
    const test = componentsOf(1);
    fill(test, 'm', 5000);
    test.components.clears.clear(span('m'));
    let writes = 0;
    for (; test.components.sweeper.isClearing; writes++) {
      setEntry(test.components, 'n', 'k', `${writes}`);
    }
    assert.ok(writes <= 8192 / 8 + 1, `${writes} writes`);
  });

  it('reuses an id only after a scan of every partition', () => {
    const test = componentsOf(3);
    const keys = Array.from({ length: 50 }, (_, index) => `key ${index}`);
    for (let round = 0; round < 200; round++) {
      const map = 'm';
      for (const key of keys) assert.equal(findEntry(test.components, map, key), 0);
      for (const key of keys) setEntry(test.components, map, key, `${round}`);
      assert.equal(test.components.maps.size(span(map)), keys.length);
      test.components.clears.clear(span(map));
      if (round % 3 === 0) test.clock.advance(round % 7);
    }
    test.clock.advance(10_000);
    assertEmpty(test.components.store);
  });

  it('scans the index once for several clears', () => {
    const test = componentsOf(1);
    for (let index = 0; index < 1000; index++) {
      setEntry(test.components, `map ${index}`, 'k', 'v');
    }
    for (let index = 0; index < 1000; index++) test.components.clears.clear(span(`map ${index}`));
    test.clock.advance(1000);
    assertEmpty(test.components.store);
  });

  it('rests for a second after a round, but not before it removes a cleared map', () => {
    const test = componentsOf(3);
    const { clock, components } = test;
    const expiring = { timeToLiveMs: 100, maxIdleSeconds: 0 };
    setEntry(components, 'n', 'a', 'value', '', expiring);
    clock.advance(100);
    assert.equal(entriesOf(components), 0);
    setEntry(components, 'n', 'b', 'value', '', expiring);
    assert.equal(clock.nextDueMs, clock.now() + 1000);
    fill(test, 'm', 5000);
    components.clears.clear(span('m'));
    clock.advance(2);
    assert.ok(!components.sweeper.isClearing);
    clock.advance(1000);
    assertEmpty(components.store);
  });

  it('removes what is due at once to count the entries of a map, and then continues', () => {
    const test = componentsOf(3);
    const { clock, components } = test;
    fill(test, 'm', 5000);
    fill(test, 'n', 10);
    for (let index = 0; index < 500; index++) {
      const lifetime = { timeToLiveMs: 1 + (index % 10), maxIdleSeconds: 0 };
      setEntry(components, 'n', `expiring ${index}`, 'value', 'a/type', lifetime);
    }
    components.clears.clear(span('m'));
    for (let round = 1; components.sweeper.isClearing; round++) {
      for (let write = 0; write < 8; write++) setEntry(components, 'o', 'k', `${round}`);
      clock.setWall(clock.wall() + 1);
      assert.equal(components.maps.size(span('n')), 10 + Math.max(500 - 50 * round, 0));
      assertInvariants(components);
    }
    assert.equal(components.maps.size(span('n')), 10);
    // The entries and the names of two maps and a content type.
    assert.equal(entriesOf(components), 14);
  });

  it('stops when it is closed', () => {
    const test = componentsOf(1);
    fill(test, 'm', 5000);
    test.components.clears.clear(span('m'));
    test.components.sweeper.close();
    test.components.store.pool.close();
    assert.equal(test.clock.timerCount, 0);
  });
});
