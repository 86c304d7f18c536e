import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessMetrics } from '../../src/telemetry/process-metrics.ts';
import { assertOnlyRises, samplesOf } from './read-metrics.ts';

test('ProcessMetrics reports the process and Node, and counts only up', () => {
  const wallMs = 1_700_000_000_000;
  const metrics = new ProcessMetrics({ limit: 1024, count: 20 }, wallMs);
  const before = samplesOf(metrics);
  const after = samplesOf(metrics);
  metrics.end();
  assertOnlyRises(before, after);
  const value = (name: string) => after.get(name) ?? Number.NaN;
  assert.equal(value('process_max_fds'), 1024);
  assert(value('process_open_fds') > 2);
  assert(value('process_cpu_seconds_total') > 0);
  assert(value('process_start_time_seconds') <= wallMs / 1000);
  assert(value('process_resident_memory_bytes') > value('nodejs_heap_size_used_bytes'));
  assert(value('nodejs_heap_size_total_bytes') > 0 && value('nodejs_external_memory_bytes') > 0);
  assert.equal(value(`nodejs_version_info{version="${process.version}"}`), 1);
  for (const name of ['p50', 'p99', 'max'])
    assert(value(`nodejs_eventloop_lag_${name}_seconds`) >= 0, name);
});

test('ProcessMetrics reports no limit of open files as infinite', () => {
  const metrics = new ProcessMetrics(
    { limit: Number.POSITIVE_INFINITY, count: 20 },
    Date.UTC(2026, 0),
  );
  assert.equal(samplesOf(metrics).get('process_max_fds'), Number.POSITIVE_INFINITY);
  metrics.end();
});
