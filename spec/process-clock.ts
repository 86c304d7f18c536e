/**
 * Replaces `performance.now`, which slices of long work read (src/base/slices.ts), until the end of
 * the test: the time advances only when the test adds to `nowMs`.
 */
import type { TestContext } from 'node:test';

export function processClock(t: TestContext): { nowMs: number } {
  const clock = { nowMs: 0 };
  t.mock.method(performance, 'now', () => clock.nowMs);
  return clock;
}
