/**
 * Counts durations by size. The bounds are those of every duration that the member reports
 * (INTERFACE: metrics).
 */

/** Upper bounds of the buckets, in seconds, each included in its bucket. Longer durations have one more. */
export const DURATION_BOUNDS_SECONDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
export const BUCKET_COUNT = DURATION_BOUNDS_SECONDS.length + 1;

/** Returns the number of the bucket of a duration in ms. */
export function bucketOf(durationMs: number): number {
  let bucket = 0;
  while (durationMs > BOUNDS_MS[bucket]!) bucket++;
  return bucket;
}

export class DurationHistogram {
  /** Number of durations in each bucket, not cumulated. */
  readonly counts: Float64Array;
  sumMs = 0;

  /** `counts`: BUCKET_COUNT numbers. */
  constructor(counts: Float64Array = new Float64Array(BUCKET_COUNT)) {
    this.counts = counts;
  }

  add(durationMs: number): void {
    this.counts[bucketOf(durationMs)]!++;
    this.sumMs += durationMs;
  }
}

const BOUNDS_MS = Float64Array.of(
  ...DURATION_BOUNDS_SECONDS.map((seconds) => seconds * 1000),
  Number.POSITIVE_INFINITY,
);
