import assert from 'node:assert';
import { describe, it } from 'node:test';
import { prefaultPages } from '../../../src/engine/embedded/prefault.ts';
import { SlabStock } from '../../../src/engine/embedded/slab-stock.ts';
import { FakeClock } from '../../fake-clock.ts';

const BYTES = 4096;
const START_MS = 500;
const PAUSE_MS = 20;

function freed(): never {
  assert.fail('no slab should be released');
}

describe('SlabStock', () => {
  it('allocates slabs one by one, and returns them', () => {
    const clock = new FakeClock();
    const stock = new SlabStock(clock, BYTES, 8, freed);
    clock.advance(START_MS - 1);
    assert.equal(stock.count, 0);
    clock.advance(1);
    assert.equal(stock.count, 1);
    clock.advance(100 * PAUSE_MS);
    assert.equal(stock.count, 8);
    const slabs = Array.from({ length: 8 }, () => stock.take());
    assert.equal(stock.count, 0);
    assert.equal(new Set(slabs).size, 8);
    assert.ok(slabs.every(({ byteLength }) => byteLength === BYTES));
  });

  it('is refilled when few slabs are left, but not before', () => {
    const clock = new FakeClock();
    const stock = new SlabStock(clock, BYTES, 8, freed);
    clock.advance(100 * PAUSE_MS);
    for (let taken = 0; taken < 7; taken++) stock.take();
    clock.advance(100 * PAUSE_MS);
    assert.equal(stock.count, 1);
    stock.take();
    clock.advance(100 * PAUSE_MS);
    assert.equal(stock.count, 8);
  });

  it('is complete if the system has memory for only the slabs; a small stock needs no more', (t) => {
    const Real = ArrayBuffer;
    t.after(() => {
      globalThis.ArrayBuffer = Real;
    });
    for (const [bytes, refusedCount] of [
      [8_388_607, 0],
      [8_388_608, 1],
    ] as const) {
      let refused = 0;
      globalThis.ArrayBuffer = class extends Real {
        constructor(length: number) {
          if (length > bytes) {
            refused++;
            throw new RangeError('Array buffer allocation failed');
          }
          super(length);
        }
      } as ArrayBufferConstructor;
      const clock = new FakeClock();
      const stock = new SlabStock(clock, bytes, 8, freed);
      clock.advance(100 * PAUSE_MS);
      assert.deepEqual([stock.count, refused], [8, refusedCount]);
    }
  });

  it('allocates a slab that is requested before the stock has one', () => {
    const stock = new SlabStock(new FakeClock(), BYTES, 8, freed);
    assert.equal(stock.take().byteLength, BYTES);
  });

  it('without slabs allocates each requested slab', () => {
    const clock = new FakeClock();
    const stock = new SlabStock(clock, BYTES, 0, freed);
    assert.equal(stock.take().byteLength, BYTES);
    clock.advance(100 * PAUSE_MS);
    assert.equal(stock.count, 0);
  });

  it('stops if the system has no memory', () => {
    const clock = new FakeClock();
    const stock = new SlabStock(clock, 2 ** 53 - 1, 8, freed);
    clock.advance(100 * PAUSE_MS);
    assert.equal(stock.count, 0);
    assert.throws(() => stock.take(), RangeError);
  });

  it('allocates no slab after it is closed', () => {
    const clock = new FakeClock();
    const stock = new SlabStock(clock, BYTES, 8, freed);
    clock.advance(START_MS);
    stock.close();
    clock.advance(100 * PAUSE_MS);
    assert.equal(stock.count, 1);
  });

  it('touches the next slab while an engine is filled, and returns this slab first', () => {
    const clock = new FakeClock();
    const touching: { slab: ArrayBuffer; done: () => void }[] = [];
    const stock = new SlabStock(clock, BYTES, 8, freed, (slab, done) => {
      touching.push({ slab, done });
    });
    clock.advance(100 * PAUSE_MS);
    stock.take();
    assert.equal(touching.length, 0);
    stock.isFilling = true;
    stock.take();
    assert.equal(touching.length, 1);
    stock.take();
    assert.equal(touching.length, 1);
    touching[0]!.done();
    assert.equal(stock.take(), touching[0]!.slab);
    assert.equal(touching.length, 2);
    stock.take();
  });

  it('releases a slab that was touched but not needed', () => {
    const clock = new FakeClock();
    const given: ArrayBuffer[] = [];
    const touching: { slab: ArrayBuffer; done: () => void }[] = [];
    const stock = new SlabStock(
      clock,
      BYTES,
      8,
      (slab) => given.push(slab),
      (slab, done) => touching.push({ slab, done }),
    );
    clock.advance(100 * PAUSE_MS);
    for (const isLate of [false, true]) {
      stock.isFilling = true;
      stock.take();
      const { slab, done } = touching.pop()!;
      if (!isLate) done();
      stock.isFilling = false;
      if (isLate) done();
      assert.equal(given.pop(), slab);
    }
    stock.take();
    assert.deepEqual([given, touching], [[], []]);
  });
});

describe('prefaultPages', () => {
  it('leaves only zeros', async () => {
    const buffer = new ArrayBuffer(BYTES);
    await new Promise<void>((resolve) => {
      prefaultPages(buffer, resolve);
    });
    assert.deepEqual(Buffer.from(buffer), Buffer.alloc(BYTES));
  });
});
