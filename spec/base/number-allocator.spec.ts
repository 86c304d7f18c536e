import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { NumberAllocator } from '../../src/base/number-allocator.ts';

describe('NumberAllocator', () => {
  for (const top of [1, 31, 32, 33, 1023, 1024, 1025, 100_000]) {
    it(`allocates the lowest of ${top} numbers first, regardless of the order of frees`, () => {
      const numbers = new NumberAllocator();
      for (let number = 0; number < top; number++) assert.equal(numbers.allocate(), number);
      const random = new Random(top);
      const free = new Set<number>();
      for (let count = 0; count < Math.min(top, 2000); count++) free.add(random.below(top));
      for (const number of free) numbers.free(number);
      assert.equal(numbers.count, top - free.size);
      for (const number of [...free].sort((a, b) => a - b))
        assert.equal(numbers.allocate(), number);
      assert.equal(numbers.allocate(), top);
      numbers.invariants();
    });
  }

  it('never allocates a number that is in use', () => {
    const random = new Random(5);
    const numbers = new NumberAllocator();
    const used = new Set<number>();
    for (let step = 0; step < 20_000; step++) {
      const number = random.below(3000);
      const isUsed = used.has(number);
      assert.equal(numbers.isUsed(number), isUsed);
      if (random.below(2) === 0) {
        let lowest = 0;
        while (used.has(lowest)) lowest++;
        assert.equal(numbers.allocate(), lowest);
        used.add(lowest);
      } else if (isUsed) {
        numbers.free(number);
        used.delete(number);
      } else {
        numbers.use(number);
        used.add(number);
      }
      if (step % 500 !== 0) continue;
      numbers.invariants();
      const next = [...used].filter((each) => each >= number);
      assert.equal(numbers.firstUsed(number), next.length === 0 ? -1 : Math.min(...next));
      assert.deepEqual(
        [...numbers.used()],
        [...used].sort((a, b) => a - b),
      );
    }
  });

  it('firstUsed returns the lowest number in use from a number on', () => {
    const numbers = new NumberAllocator();
    assert.equal(numbers.firstUsed(0), -1);
    for (const number of [0, 31, 32, 5000]) numbers.use(number);
    const found = [0, 1, 31, 32, 33, 5000, 5001, 1_000_000].map((from) => numbers.firstUsed(from));
    assert.deepEqual(found, [0, 31, 31, 32, 5000, 5000, -1, -1]);
  });

  it('refuses to free a number that is not in use', () => {
    const numbers = new NumberAllocator();
    for (const number of [0, 7, 32, 5000])
      assert.throws(() => numbers.free(number), /already free/);
  });
});
