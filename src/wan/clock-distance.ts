/** How far versions of other members are ahead of this member's wall clock. */
import type { Version } from '../engine/version.ts';

/** From here on a clock is worth a warning. */
export const AHEAD_WARNED_MS = 60_000;
/** From here on a version is refused: every clock that took it would be ahead for ever. */
export const AHEAD_MS_MAX = 86_400_000;

/** Milliseconds of the version since 1970. */
export function msOf({ low, high }: Version): number {
  return (high >>> 0) * 2 ** 16 + (low >>> 16);
}
