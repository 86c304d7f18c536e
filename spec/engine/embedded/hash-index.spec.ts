import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { HashIndex, type Visitor, WALK_END } from '../../../src/engine/embedded/hash-index.ts';
import { MODEL_RUNS } from './at-once.ts';

/** Adds an entry like a partition. */
function insert(index: HashIndex, hash: number, address: number): void {
  if (index.bitsToInsert !== index.bits) index.resize(index.bitsToInsert);
  index.insert(hash, address);
}

function remove(index: HashIndex, hash: number, address: number): void {
  index.remove(index.find(hash, address));
  if (index.bitsToShrink !== index.bits) index.resize(index.bitsToShrink);
}

function addressesOf(index: HashIndex, hash: number): number[] {
  const addresses: number[] = [];
  for (let place = index.first(hash); place >= 0; place = index.after(place, hash)) {
    addresses.push(index.address(place));
  }
  return addresses.sort((a, b) => a - b);
}

class Collector implements Visitor {
  readonly seen: number[] = [];
  readonly #removes: (address: number) => boolean;

  constructor(removes: (address: number) => boolean = () => false) {
    this.#removes = removes;
  }

  visit(address: number): boolean {
    this.seen.push(address);
    return this.#removes(address);
  }
}

/** Hashes that often collide, even at both ends of the table. */
const hashes = fc.oneof(
  fc.constantFrom(0, 1, -1, -2, 0x7fffffff, -0x80000000, -0x10000000),
  fc.integer({ min: -0x80000000, max: 0x7fffffff }),
);

describe('HashIndex', () => {
  it('behaves like a list of hashes by address, with growth and shrinking', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ insert: hashes }) },
      { weight: 2, arbitrary: fc.record({ remove: fc.nat(1000) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
        const index = new HashIndex();
        const model = new Map<number, number>();
        let next = 1;
        for (const action of steps) {
          if ('insert' in action) {
            insert(index, action.insert, next);
            model.set(next++, action.insert);
          } else if (model.size > 0) {
            const [address, hash] = [...model][action.remove % model.size]!;
            remove(index, hash, address);
            model.delete(address);
          }
          assert.equal(index.count, model.size);
          index.invariants((hash, address) => assert.equal(model.get(address), hash));
        }
        for (const hash of new Set(model.values())) {
          const expected = [...model].filter(([, other]) => other === hash).map(([at]) => at);
          assert.deepEqual(
            addressesOf(index, hash),
            expected.sort((a, b) => a - b),
          );
        }
        assert.deepEqual(
          addressesOf(index, 12345),
          [...model].filter(([, hash]) => hash === 12345).map(([at]) => at),
        );
      }),
    );
  });

  it('walk visits remaining entries once, whatever is done between its steps', () => {
    const between = fc.array(
      fc.oneof(fc.record({ insert: hashes }), fc.record({ remove: fc.nat(1000) })),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(
        fc.array(hashes, { minLength: 1, maxLength: 120, size: 'max' }),
        fc.array(between, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 20 }),
        (first, changes, places) => {
          const index = new HashIndex();
          const model = new Map<number, number>();
          let next = 1;
          const add = (hash: number) => {
            insert(index, hash, next);
            model.set(next++, hash);
          };
          first.forEach(add);
          const standing = new Set(model.keys());
          const collector = new Collector();
          let steps = 0;
          for (let from = 0; from < WALK_END; steps++) {
            from = index.walk(from, places, collector);
            for (const action of changes[steps % changes.length]!) {
              if ('insert' in action) {
                if (model.size < 500) add(action.insert);
              } else if (model.size > 1) {
                const [address, hash] = [...model][action.remove % model.size]!;
                remove(index, hash, address);
                model.delete(address);
                standing.delete(address);
              }
              index.invariants((hash, address) => assert.equal(model.get(address), hash));
            }
          }
          const times = new Map<number, number>();
          for (const address of collector.seen) times.set(address, (times.get(address) ?? 0) + 1);
          for (const address of standing) assert.equal(times.get(address), 1);
        },
      ),
      { numRuns: MODEL_RUNS },
    );
  });

  it('next returns the hashes in order, or passes free places', () => {
    fc.assert(
      fc.property(
        fc.array(hashes, { maxLength: 200, size: 'max' }),
        fc.integer({ min: 1, max: 30 }),
        fc.nat(4),
        (all, freeMax, moreBits) => {
          const index = new HashIndex();
          all.forEach((hash, at) => {
            insert(index, hash, at + 1);
          });
          index.resize(index.bits + moreBits);
          const sorted = [...new Set(all.map((hash) => hash >>> 0))].sort((a, b) => a - b);
          const seen: number[] = [];
          for (let from = 0; from < WALK_END; ) {
            const hash = index.next(from, freeMax);
            assert.ok(hash >= from && hash <= WALK_END);
            if (hash < WALK_END && index.first(hash | 0) >= 0) seen.push(hash);
            from = hash + 1;
          }
          assert.deepEqual(seen, sorted);
          for (const from of [...sorted, ...sorted.map((hash) => hash + 1), 12345]) {
            if (from === WALK_END) continue;
            const hash = index.next(from, Number.POSITIVE_INFINITY);
            assert.equal(hash, sorted.find((other) => other >= from) ?? WALK_END);
          }
        },
      ),
    );
  });

  it('next passes no more than so many free places', () => {
    const index = new HashIndex();
    index.resize(20);
    insert(index, -1, 1);
    assert.equal(index.next(0, 64), 64 * 2 ** 12);
    assert.equal(index.next(5, 1), 2 ** 12);
    assert.equal(index.next(2 ** 32 - 2, 64), 2 ** 32 - 1);
  });

  it('walk removes exactly the entries that its visitor selects', () => {
    fc.assert(
      fc.property(
        fc.array(hashes, { maxLength: 200, size: 'max' }),
        fc.integer({ min: 1, max: 50 }),
        (all, places) => {
          const index = new HashIndex();
          all.forEach((hash, at) => {
            insert(index, hash, at + 1);
          });
          const collector = new Collector((address) => address % 3 === 0);
          for (let from = 0; from < WALK_END; ) from = index.walk(from, places, collector);
          assert.equal(index.count, all.filter((_, at) => (at + 1) % 3 !== 0).length);
          all.forEach((hash, at) => {
            assert.equal(addressesOf(index, hash).includes(at + 1), (at + 1) % 3 !== 0);
          });
        },
      ),
    );
  });
});
