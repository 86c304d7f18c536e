import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RECENT_MS, RecentBytes } from '../../src/http/recent-bytes.ts';

const STEP_MS = 250;

describe('RecentBytes', () => {
  it('counts all of the last five seconds, and nothing of more than a quarter of a second before', () => {
    const moves = fc.array(fc.tuple(fc.integer({ max: 9000 }), fc.nat({ max: 1000 })), {
      minLength: 1,
    });
    fc.assert(
      fc.property(fc.nat({ max: 1e9 }), moves, (beginMs, passed) => {
        const recent = new RecentBytes();
        recent.begin(beginMs);
        let nowMs = beginMs;
        const moved: { atMs: number; bytes: number }[] = [];
        for (const [ms, bytes] of passed) {
          nowMs += Math.max(0, ms);
          moved.push({ atMs: nowMs, bytes });
          recent.add(bytes, nowMs);
          const since = (ageMs: number): number =>
            moved.reduce((sum, each) => sum + (each.atMs >= nowMs - ageMs ? each.bytes : 0), 0);
          const sum = recent.sum(nowMs);
          assert(sum >= since(RECENT_MS) && sum <= since(RECENT_MS + STEP_MS));
        }
      }),
    );
  });

  it('begins anew', () => {
    const recent = new RecentBytes();
    recent.begin(1000);
    recent.add(5, 1000);
    recent.begin(1200);
    assert.equal(recent.sum(1200), 0);
  });
});
