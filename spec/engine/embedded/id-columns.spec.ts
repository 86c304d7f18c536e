import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import { ExtentPool } from '../../../src/engine/embedded/extent-pool.ts';
import { IdColumns } from '../../../src/engine/embedded/id-columns.ts';
import { MemoryMeter } from '../../../src/engine/embedded/memory-meter.ts';
import { Version } from '../../../src/engine/version.ts';
import { FakeClock } from '../../fake-clock.ts';

function newIds() {
  const meter = new MemoryMeter(Number.POSITIVE_INFINITY, 0);
  const ids = new IdColumns(new ExtentPool(meter, new FakeClock()));
  const columns = { integers: ids.integers(), doubles: ids.doubles() };
  return { meter, ids, ...columns, pairs: ids.pairs(), versions: ids.pairs() };
}

describe('IdColumns', () => {
  it('allocates the lowest free id, from 1 on', () => {
    const { ids } = newIds();
    const given = Array.from({ length: 5000 }, () => ids.allocate());
    assert.deepEqual(
      given,
      given.map((_, index) => index + 1),
    );
    for (const id of [4000, 31, 32, 1024, 2047]) ids.free(id);
    assert.deepEqual(
      Array.from({ length: 6 }, () => ids.allocate()),
      [31, 32, 1024, 2047, 4000, 5001],
    );
    assert.equal(ids.count, 5001);
  });

  it('retains the values of ids in use, and one empty page', () => {
    const { ids, integers, doubles, pairs, versions, meter } = newIds();
    const version = new Version();
    const random = new Random(5);
    const given: number[] = [];
    for (let step = 0; step < 60_000; step++) {
      const grows = step % 20_000 < 10_000;
      if (given.length === 0 || random.below(10) < (grows ? 8 : 2)) {
        const id = ids.allocate();
        integers.set(id, -id);
        doubles.set(id, id * 2 ** 33);
        pairs.set(id, ~id, id + 7);
        versions.set(id, id - 2 ** 31, id);
        given.push(id);
      } else {
        const at = random.below(given.length);
        const id = given[at]!;
        assert.equal(integers.get(id), -id);
        assert.equal(doubles.get(id), id * 2 ** 33);
        assert.deepEqual([pairs.first(id), pairs.second(id)], [~id, id + 7]);
        versions.get(id, version);
        assert.deepEqual([version.low, version.high], [id - 2 ** 31, id]);
        given[at] = given.at(-1)!;
        given.pop();
        ids.free(id);
      }
      assert.equal(ids.count, given.length);
      if (step % 50 === 0) ids.invariants();
    }
    assert.equal(new Set(given).size, given.length);
    for (const id of given) ids.free(id);
    assert.equal(meter.bytes, 1024 * (4 + 8 + 8 + 8));
  });

  it('compares a version with the one of an id, which is 0 if it was never set', () => {
    const { versions, pairs } = newIds();
    const version = new Version();
    assert.deepEqual([pairs.first(5000), pairs.second(5000)], [0, 0]);
    assert(!versions.isBefore(5000, version));
    assert(versions.isBefore(5000, version.set(1, 0)));
    versions.set(7, -1, 3);
    for (const [low, high, isLater] of [
      [-2, 3, false],
      [-1, 3, false],
      [0, 4, true],
      [5, 2, false],
      [0, -1, true],
    ] as const) {
      assert.equal(versions.isBefore(7, version.set(low, high)), isLater, `${low} ${high}`);
    }
  });
});
