/** Reads the text format of Prometheus, and refuses text that breaks its rules. */
import assert from 'node:assert/strict';
import type { Figures } from '../../src/base/figures.ts';
import { MetricsText, metricsFormat } from '../../src/telemetry/metrics-text.ts';

/** The values of all samples, by their names and labels as they are in the text. */
export type Samples = ReadonlyMap<string, number>;

/** Returns the samples of a text. Metrics are whole groups with HELP and TYPE, and no sample is repeated. */
export function readMetrics(text: string): Samples {
  const samples = new Map<string, number>();
  const families = new Set<string>();
  let family = '';
  assert(text === '' || text.endsWith('\n'), 'a line end');
  for (const line of text.split('\n').slice(0, -1)) {
    if (line === '# EOF') continue;
    const [, word, name = ''] = /^# (HELP|TYPE) (\S+) /.exec(line) ?? [];
    if (word === 'HELP') {
      assert(!families.has(name), `${name} is in two groups`);
      families.add(name);
      family = name;
    } else if (word === 'TYPE') assert.equal(name, family);
    else {
      const [, series = '', value] = SAMPLE.exec(line) ?? [];
      assert(series !== '', `Cannot read ${line}`);
      assert(series.startsWith(family) && !samples.has(series), line);
      samples.set(series, value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value));
    }
  }
  return samples;
}

/** Returns the samples that a part reports. */
export function samplesOf(part: { figures(to: Figures): void }): Samples {
  const text = new MetricsText(metricsFormat(''));
  part.figures(text);
  return readMetrics(text.end());
}

/** Asserts that no counter of `before` is lower in `after`, and that no bucket is below the one before it. */
export function assertOnlyRises(before: Samples, after: Samples): void {
  for (const [series, value] of before) {
    if (/_(total|count|sum|bucket)\b/.test(series))
      assert((after.get(series) ?? -1) >= value, series);
  }
}

const SAMPLE =
  /^([a-z_0-9]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*\})?) (\d+(?:\.\d+)?(?:e[+-]?\d+)?|\+Inf)$/;
