import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HybridClock } from '../../src/engine/hybrid-clock.ts';
import { FakeClock } from '../fake-clock.ts';

function versionOf(clock: HybridClock): bigint {
  return (BigInt(clock.high >>> 0) << 32n) | BigInt(clock.low >>> 0);
}

describe('HybridClock', () => {
  it('is the wall clock in milliseconds, with a counter in the low 16 bits', () => {
    const clock = new FakeClock(0, 1_763_755_200_123);
    const versions = new HybridClock(clock);
    versions.tick();
    assert.equal(versionOf(versions) >> 16n, 1_763_755_200_123n);
    assert.equal(versionOf(versions) & 0xffffn, 0n);
    versions.tick();
    assert.equal(versionOf(versions) & 0xffffn, 1n);
  });

  it('increases with every tick, even if the wall clock stops or is set back', () => {
    const clock = new FakeClock();
    const versions = new HybridClock(clock);
    let last = 0n;
    for (let step = 0; step < 200_000; step++) {
      if (step === 70_000) clock.setWall(clock.wall() - 3_600_000);
      if (step === 150_000) clock.setWall(clock.wall() + 7_200_000);
      versions.tick();
      const version = versionOf(versions);
      assert.ok(version > last);
      last = version;
    }
    assert.equal(last >> 16n, BigInt(clock.wall()));
  });

  it('shares no version with a clock in another place, and increases when its place changes', () => {
    const clock = new FakeClock();
    const clocks = [0, 1, 255].map((place) => {
      const versions = new HybridClock(clock);
      versions.setPlace(place, 256);
      return versions;
    });
    const given = new Set<bigint>();
    const last = clocks.map(() => 0n);
    for (let step = 0; step < 3000; step++) {
      if (step === 1000) clocks[0]!.setPlace(7, 256);
      if (step % 1500 === 0) clock.advance(1);
      for (const [index, versions] of clocks.entries()) {
        versions.tick();
        const version = versionOf(versions);
        assert.ok(version > last[index]! && !given.has(version));
        given.add(version);
        last[index] = version;
      }
    }
  });
});
