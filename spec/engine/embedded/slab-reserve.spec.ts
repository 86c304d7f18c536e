import assert from 'node:assert';
import { describe, it } from 'node:test';
import { SlabReserve } from '../../../src/engine/embedded/slab-reserve.ts';
import { touchPages } from '../../../src/engine/embedded/touched-pages.ts';
import { FakeClock } from '../../fake-clock.ts';

const BYTES = 4096;
const START_MS = 500;
const PAUSE_MS = 20;

function freed(): never {
  assert.fail('nothing is given back');
}

describe('SlabReserve', () => {
  it('makes slabs one by one, and gives them', () => {
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, BYTES, 8, freed);
    clock.advance(START_MS - 1);
    assert.equal(reserve.count, 0);
    clock.advance(1);
    assert.equal(reserve.count, 1);
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 8);
    const slabs = Array.from({ length: 8 }, () => reserve.take());
    assert.equal(reserve.count, 0);
    assert.equal(new Set(slabs).size, 8);
    assert.ok(slabs.every(({ byteLength }) => byteLength === BYTES));
  });

  it('makes all again when hardly any is left, and not before', () => {
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, BYTES, 8, freed);
    clock.advance(100 * PAUSE_MS);
    for (let taken = 0; taken < 7; taken++) reserve.take();
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 1);
    reserve.take();
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 8);
  });

  it('is whole where the system has memory for the slabs, and for nothing more', (t) => {
    const Real = ArrayBuffer;
    t.after(() => {
      globalThis.ArrayBuffer = Real;
    });
    globalThis.ArrayBuffer = class extends Real {
      constructor(bytes: number) {
        if (bytes > BYTES) throw new RangeError('Array buffer allocation failed');
        super(bytes);
      }
    } as ArrayBufferConstructor;
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, BYTES, 8, freed);
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 8);
  });

  it('makes a slab that is asked for before its time', () => {
    const reserve = new SlabReserve(new FakeClock(), BYTES, 8, freed);
    assert.equal(reserve.take().byteLength, BYTES);
  });

  it('of no slabs makes what is asked for', () => {
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, BYTES, 0, freed);
    assert.equal(reserve.take().byteLength, BYTES);
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 0);
  });

  it('goes without where the system gives no memory', () => {
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, 2 ** 53 - 1, 8, freed);
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 0);
    assert.throws(() => reserve.take(), RangeError);
  });

  it('makes none once it is closed', () => {
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, BYTES, 8, freed);
    clock.advance(START_MS);
    reserve.close();
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 1);
  });

  it('has the next slab touched while an engine is filled, and gives it first', () => {
    const clock = new FakeClock();
    const touching: { slab: ArrayBuffer; done: () => void }[] = [];
    const reserve = new SlabReserve(clock, BYTES, 8, freed, (slab, done) => {
      touching.push({ slab, done });
    });
    clock.advance(100 * PAUSE_MS);
    reserve.take();
    assert.equal(touching.length, 0);
    reserve.isFilling = true;
    reserve.take();
    assert.equal(touching.length, 1);
    reserve.take();
    assert.equal(touching.length, 1);
    assert.ok(!reserve.isTouched);
    touching[0]!.done();
    assert.equal(reserve.take(), touching[0]!.slab);
    assert.ok(reserve.isTouched);
    assert.equal(touching.length, 2);
    reserve.take();
    assert.ok(!reserve.isTouched);
  });

  it('gives a slab back that was touched and not needed', () => {
    const clock = new FakeClock();
    const given: ArrayBuffer[] = [];
    const touching: { slab: ArrayBuffer; done: () => void }[] = [];
    const reserve = new SlabReserve(
      clock,
      BYTES,
      8,
      (slab) => given.push(slab),
      (slab, done) => touching.push({ slab, done }),
    );
    clock.advance(100 * PAUSE_MS);
    for (const isLate of [false, true]) {
      reserve.isFilling = true;
      reserve.take();
      const { slab, done } = touching.pop()!;
      if (!isLate) done();
      reserve.isFilling = false;
      if (isLate) done();
      assert.equal(given.pop(), slab);
    }
    reserve.take();
    assert.deepEqual([given, touching], [[], []]);
  });
});

describe('touchPages', () => {
  it('leaves zeros', async () => {
    const buffer = new ArrayBuffer(BYTES);
    await new Promise<void>((resolve) => {
      touchPages(buffer, resolve);
    });
    assert.deepEqual(Buffer.from(buffer), Buffer.alloc(BYTES));
  });
});
