import assert from 'node:assert';
import { describe, it } from 'node:test';
import { SlabReserve } from '../../../src/engine/embedded/slab-reserve.ts';
import { FakeClock } from '../../fake-clock.ts';

const BYTES = 4096;
const PAUSE_MS = 20;

describe('SlabReserve', () => {
  it('makes slabs one by one, and gives them', () => {
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, BYTES, 8);
    assert.equal(reserve.count, 0);
    clock.advance(PAUSE_MS);
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
    const reserve = new SlabReserve(clock, BYTES, 8);
    clock.advance(100 * PAUSE_MS);
    for (let taken = 0; taken < 7; taken++) reserve.take();
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 1);
    reserve.take();
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 8);
  });

  it('makes a slab that is asked for before its time', () => {
    const reserve = new SlabReserve(new FakeClock(), BYTES, 8);
    assert.equal(reserve.take().byteLength, BYTES);
  });

  it('of no slabs makes what is asked for', () => {
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, BYTES, 0);
    assert.equal(reserve.take().byteLength, BYTES);
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 0);
  });

  it('goes without where the system gives no memory', () => {
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, 2 ** 53 - 1, 8);
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 0);
    assert.throws(() => reserve.take(), RangeError);
  });

  it('makes none once it is closed', () => {
    const clock = new FakeClock();
    const reserve = new SlabReserve(clock, BYTES, 8);
    clock.advance(PAUSE_MS);
    reserve.close();
    clock.advance(100 * PAUSE_MS);
    assert.equal(reserve.count, 1);
  });
});
