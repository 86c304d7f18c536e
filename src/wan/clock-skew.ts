/**
 * Limits for how far versions of other members may be ahead of this member's wall clock.
 * Tested by restored-queue.spec.ts.
 */
import type { Version } from '../engine/version.ts';

/** Lead of a clock from which it is logged, in ms. */
export const AHEAD_WARNED_MS = 60_000;
/** Lead from which a version is refused, in ms: it would set this clock ahead for ever. */
export const AHEAD_MS_MAX = 86_400_000;

/** Returns the version's time in ms since 1970. */
export function msOf({ low, high }: Version): number {
  return (high >>> 0) * 2 ** 16 + (low >>> 16);
}
