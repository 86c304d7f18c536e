import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BUCKET_COUNT,
  bucketOf,
  DURATION_BOUNDS_SECONDS,
  DurationHistogram,
} from '../../src/base/duration-histogram.ts';

test('bucketOf returns the first bucket whose bound is not below the duration', () => {
  for (const [bucket, seconds] of DURATION_BOUNDS_SECONDS.entries()) {
    const ms = seconds * 1000;
    assert.equal(bucketOf(ms), bucket);
    assert.equal(bucketOf(ms * 1.0001), bucket + 1);
  }
  assert.equal(bucketOf(0), 0);
  assert.equal(bucketOf(1e9), BUCKET_COUNT - 1);
});

test('DurationHistogram counts durations and their sum', () => {
  const durations = new DurationHistogram();
  for (const ms of [0, 3, 3, 99_999]) durations.add(ms);
  assert.equal(durations.sumMs, 100_005);
  assert.equal(durations.counts[bucketOf(3)], 2);
  assert.equal(
    durations.counts.reduce((sum, count) => sum + count),
    4,
  );
});
