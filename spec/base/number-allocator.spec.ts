import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { NumberAllocator } from '../../src/base/number-allocator.ts';

describe('NumberAllocator', () => {
  it('has no number initially', () => {
    assert.equal(new NumberAllocator().allocate(), -1);
  });

  for (const top of [1, 31, 32, 33, 1023, 1024, 1025, 100_000]) {
    it(`allocates the lowest of ${top} numbers first, regardless of the order of frees`, () => {
      const numbers = new NumberAllocator();
      const random = new Random(top);
      const free = new Set<number>();
      for (let count = 0; count < Math.min(top, 2000); count++) free.add(random.below(top));
      for (const number of free) numbers.free(number);
      for (const number of [...free].sort((a, b) => a - b))
        assert.equal(numbers.allocate(), number);
      assert.equal(numbers.allocate(), -1);
    });
  }

  it('never allocates a number twice', () => {
    const random = new Random(5);
    const numbers = new NumberAllocator();
    const free = new Set<number>();
    for (let step = 0; step < 20_000; step++) {
      const number = random.below(3000);
      if (random.below(2) === 0 && !free.has(number)) {
        numbers.free(number);
        free.add(number);
      } else {
        const lowest = free.size === 0 ? -1 : Math.min(...free);
        assert.equal(numbers.allocate(), lowest);
        free.delete(lowest);
      }
    }
  });
});
