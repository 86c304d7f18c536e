import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RECENT_MS, RecentBytes } from '../../src/http/recent-bytes.ts';

const STEP_MS = 250;

describe('RecentBytes', () => {
  it('counts the last five seconds, and at most a quarter of a second before', () => {
    const moves = fc.array(fc.tuple(fc.integer({ max: 9000 }), fc.nat({ max: 1000 })), {
      minLength: 1,
    });
    fc.assert(
      fc.property(fc.nat({ max: 1e9 }), moves, (beginMs, passed) => {
        const recent = new RecentBytes();
        recent.begin(0, beginMs);
        let reached = 0;
        let nowMs = beginMs;
        const moved: { atMs: number; bytes: number }[] = [];
        for (const [ms, bytes] of passed) {
          nowMs += Math.max(0, ms);
          moved.push({ atMs: nowMs, bytes });
          reached += bytes;
          recent.reach(reached, nowMs);
          const since = (ageMs: number): number =>
            moved.reduce((sum, each) => sum + (each.atMs >= nowMs - ageMs ? each.bytes : 0), 0);
          const sum = recent.sum(nowMs);
          assert(sum >= since(RECENT_MS) && sum <= since(RECENT_MS + STEP_MS));
        }
      }),
    );
  });

  it('begins again', () => {
    const recent = new RecentBytes();
    recent.begin(0, 1000);
    recent.reach(5, 1000);
    recent.begin(7, 1200);
    assert.equal(recent.sum(1200), 0);
    recent.reach(10, 1200);
    assert.equal(recent.sum(1200), 3);
  });

  it('counts the recent share of bytes that moved evenly', () => {
    const recent = new RecentBytes();
    recent.begin(0, 0);
    recent.reachEvenly(1000, 4 * RECENT_MS);
    assert.equal(recent.sum(4 * RECENT_MS), 250);
    recent.reachEvenly(1100, 4.5 * RECENT_MS);
    assert.equal(recent.sum(4.5 * RECENT_MS), 350);
  });
});
