/** Visits in steps while all other data is overwritten, deleted, cleared, moved and grown. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import { type Mutation, OFFER } from '../../../src/engine/mutation.ts';
import { VisitCursor } from '../../../src/engine/stored-engine.ts';
import type { FakeClock } from '../../fake-clock.ts';
import type { AtOnce } from './at-once.ts';
import { engineOf } from './components-of.ts';

const STAYING = 1000;
const BUDGET = 100;

/** Returns a value that reveals a mixture of two values. */
function marked(text: string, length: number): Buffer {
  return Buffer.from(`${text};`.repeat(Math.ceil(length / (text.length + 1))));
}

/** Changes all data except the map `stay` and the first items of the queues. */
class Meddler {
  readonly #ask: AtOnce;
  readonly #clock: FakeClock;
  readonly #random: Random;
  #count = 0;
  /** Maps by number; a cleared map is never written to again. */
  #map = 0;
  readonly cleared = new Set<string>();

  constructor(ask: AtOnce, clock: FakeClock, seed: number) {
    this.#ask = ask;
    this.#clock = clock;
    this.#random = new Random(seed);
  }

  meddle(): void {
    for (let count = 0; count < 60; count++) {
      const key = `k${this.#random.below(1000)}`;
      const length = this.#random.below(50) === 0 ? 20_000 : 20 + this.#random.below(200);
      const map = `map ${this.#map}`;
      this.#ask.set(map, key, marked(`${this.#count++}`, length));
      this.#ask.set('changing', `k${this.#random.below(700)}`, marked(`${this.#count}`, length));
      if (count % 3 === 0) this.#ask.delete(map, `k${this.#random.below(1000)}`);
      this.#ask.offer(`q${count % 5}`, marked('late', 30));
    }
    if (this.#random.below(5) === 0) {
      this.#ask.clear(`map ${this.#map}`);
      this.cleared.add(`map ${this.#map}`);
      this.#map++;
    }
    this.#clock.advance(this.#random.below(8));
  }
}

describe('visit', () => {
  for (const partitionCount of [1, 5]) {
    it(`passes all remaining data, but nothing mixed or cleared (${partitionCount} partitions)`, () => {
      const { clock, engine, ask } = engineOf({ partitionCount });
      for (let index = 0; index < STAYING; index++) {
        // Entries deleted in between make the extents sparse, so that the remaining ones are moved.
        ask.set('leaving', `k${index}`, marked('leaving', 150));
        ask.set('stay', `k${index}`, marked(`${index}`, 60), index % 2 === 0 ? 'a/type' : '');
      }
      for (let index = 0; index < 500; index++) ask.offer(`q${index % 5}`, marked(`${index}`, 40));
      const meddler = new Meddler(ask, clock, 3);
      const seen = new Set<string>();
      const items = new Map<string, number[]>();
      let steps = 0;
      const onStored = (stored: Mutation) => {
        const name = stored.name.toBuffer().toString();
        const value = stored.value.toBuffer().toString();
        const parts = new Set(value.split(';').slice(0, -1));
        assert.equal(parts.size, 1, 'a mixture');
        if (stored.operation === OFFER) {
          const numbers = items.get(name) ?? [];
          numbers.push(stored.item);
          items.set(name, numbers);
          if (!parts.has('late')) seen.add(`item ${[...parts][0]}`);
          return;
        }
        assert.ok(!meddler.cleared.has(name), `${name} was cleared`);
        if (name !== 'stay') return;
        const key = stored.key.toBuffer().toString();
        assert.ok(parts.has(key.slice(1)));
        assert.equal(stored.contentType.length > 0, Number(key.slice(1)) % 2 === 0);
        seen.add(key);
      };
      let leaving = 0;
      for (let partition = 0; partition < engine.partitionCount; partition++) {
        const cursor = new VisitCursor();
        for (let isLeft = true; isLeft; steps++) {
          isLeft = engine.visit(partition, cursor, BUDGET, { onStored });
          meddler.meddle();
          for (let count = 0; count < 80; count++) ask.delete('leaving', `k${leaving++}`);
        }
      }
      assert.ok(steps > STAYING / BUDGET, `${steps} steps`);
      for (let index = 0; index < STAYING; index++) assert.ok(seen.has(`k${index}`), `${index}`);
      for (let index = 0; index < 500; index++) assert.ok(seen.has(`item ${index}`), `${index}`);
      for (const numbers of items.values()) {
        numbers.forEach((item, index) => {
          assert.ok(
            index === 0 || item > numbers[index - 1]!,
            'items are not in order from the head',
          );
        });
      }
      engine.close();
    });
  }

  it('passes about `budget` records at a time', () => {
    const { engine, ask } = engineOf({ partitionCount: 1 });
    for (let index = 0; index < 5000; index++) ask.set('m', `k${index}`, Buffer.from('v'));
    for (let index = 0; index < 5000; index++) ask.offer('q', Buffer.from('v'));
    const cursor = new VisitCursor();
    let given = 0;
    const onStored = () => {
      given++;
    };
    for (let total = 0, isLeft = true; isLeft; total = given) {
      isLeft = engine.visit(0, cursor, BUDGET, { onStored });
      assert.ok(given - total <= 2 * BUDGET, `${given - total}`);
    }
    assert.equal(given, 10_000);
    engine.close();
  });
});
