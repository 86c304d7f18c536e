/** Covers src/telemetry/metrics-text.ts and src/base/figures.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DurationHistogram } from '../../src/base/duration-histogram.ts';
import { counter, gauge, histogram } from '../../src/base/figures.ts';
import { MetricsText, metricsFormat } from '../../src/telemetry/metrics-text.ts';
import { readMetrics } from './read-metrics.ts';

const TEXT = 'text/plain; version=0.0.4; charset=utf-8';
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

describe('MetricsText', () => {
  const items = gauge('grid_items', 'Number of items', 'queue');
  const done = counter('grid_done_total', 'Number of calls');

  function written(accept = ''): MetricsText {
    return new MetricsText(metricsFormat(accept));
  }

  it('writes samples of one metric as one group, in the order of the first ones', () => {
    const text = written();
    text.add(items, 1, 'a');
    text.add(done, 5);
    text.add(items, 2.5, 'b');
    assert.equal(
      text.end(),
      '# HELP grid_items Number of items\n# TYPE grid_items gauge\n' +
        'grid_items{queue="a"} 1\ngrid_items{queue="b"} 2.5\n' +
        '# HELP grid_done_total Number of calls\n# TYPE grid_done_total counter\n' +
        'grid_done_total 5\n',
    );
  });

  it('names the family of a counter without its suffix, and marks the end, in OpenMetrics', () => {
    const text = written(OPEN_METRICS);
    text.add(done, 5);
    assert.equal(
      text.end(),
      '# HELP grid_done Number of calls\n# TYPE grid_done counter\ngrid_done_total 5\n# EOF\n',
    );
  });

  it('escapes quotes, backslashes and line feeds of labels', () => {
    const text = written();
    text.add(items, 1, 'a"b\\c\nd');
    assert.match(text.end(), /\{queue="a\\"b\\\\c\\nd"\}/);
  });

  it('writes values that are not finite by their names', () => {
    const text = written();
    for (const value of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN])
      text.add(done, value);
    assert.deepEqual(text.end().split('\n').slice(2, 5), [
      'grid_done_total +Inf',
      'grid_done_total -Inf',
      'grid_done_total NaN',
    ]);
  });

  it('writes 1 for the current state and 0 for the others', () => {
    const text = written();
    text.addState(gauge('grid_state', 'State', 'of', 'state'), ['ON', 'OFF'], 'OFF', 'x');
    assert.deepEqual(
      [...readMetrics(text.end())],
      [
        ['grid_state{of="x",state="ON"}', 0],
        ['grid_state{of="x",state="OFF"}', 1],
      ],
    );
  });

  it('cumulates the buckets of durations', () => {
    const durations = new DurationHistogram();
    for (const ms of [0.05, 0.1, 0.11, 1000, 10_000, 10_001]) durations.add(ms);
    const taken = histogram('grid_taken_seconds', 'Time', 'route');
    const text = written();
    text.addDurations(taken, durations, 'r');
    const samples = readMetrics(text.end());
    const bucket = (bound: string) =>
      samples.get(`grid_taken_seconds_bucket{route="r",le="${bound}"}`);
    assert.deepEqual(
      ['0.0001', '0.00025', '0.5', '1', '5', '10', '+Inf'].map(bucket),
      [2, 3, 3, 4, 4, 5, 6],
    );
    assert.equal(samples.get('grid_taken_seconds_count{route="r"}'), 6);
    assert.equal(samples.get('grid_taken_seconds_sum{route="r"}')?.toFixed(6), '21.001260');
    assert.equal(samples.size, 19);
    const open = written(OPEN_METRICS);
    open.addDurations(taken, durations, 'r');
    assert.match(open.end(), /le="1\.0"\} 4\n.*le="2\.5"\} 4\n.*le="5\.0"\} 4\n.*le="10\.0"\} 5\n/);
  });
});

describe('metricsFormat', () => {
  const PROMETHEUS =
    'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
  const CASES: readonly (readonly [accept: string, isOpenMetrics: boolean])[] = [
    ['', false],
    ['*/*', false],
    ['text/plain', false],
    ['application/openmetrics-text', true],
    ['Application/OpenMetrics-Text; Version="1.0.0"', true],
    ['application/openmetrics-text; version=0.0.1', false],
    ['application/openmetrics-text; version=2.0.0', false],
    [PROMETHEUS, true],
    ['application/openmetrics-text;q=0.3, text/plain;q=0.4', false],
    ['application/openmetrics-text;q=0.4, text/plain;q=0.3', true],
    ['application/openmetrics-text, text/plain', true],
    ['text/plain, application/openmetrics-text', false],
    ['text/*;q=0.1, application/openmetrics-text;q=0.2', true],
    ['*/*, application/openmetrics-text;q=0.2', false],
    ['*/*;q=0.1, application/*', true],
    ['*/*;q=0', false],
    ['application/openmetrics-text;q=0', false],
    ['application/openmetrics-text;q=0, */*', false],
    ['application/openmetrics-text;q=1.5', false],
    ['application/openmetrics-text;q=', false],
    ['application/json', false],
    [',;=,,q=;;"', false],
    ['\u0000\u00ff', false],
    ['a/b;q=0.1,'.repeat(820), false],
    [`${','.repeat(8192)}application/openmetrics-text`, true],
  ];
  for (const [accept, isOpenMetrics] of CASES) {
    it(`selects the format for ${JSON.stringify(accept.slice(0, 70))}`, () => {
      const { contentType } = metricsFormat(accept);
      assert.equal(contentType, isOpenMetrics ? OPEN_METRICS : TEXT);
    });
  }
});
