/**
 * Writes the metrics in the text format of Prometheus or in OpenMetrics. Samples of one metric are one
 * group, whatever the order in which parts report them. Sources: Prometheus "Text-based format" 0.0.4;
 * OpenMetrics 1.0.0. Tested by metrics-text.spec.ts.
 */
import { DURATION_BOUNDS_SECONDS, type DurationHistogram } from '../base/duration-histogram.ts';
import type { Figures, Metric } from '../base/figures.ts';

export interface MetricsFormat {
  readonly contentType: string;
  /** Media types and ranges that select it, the most specific first. */
  readonly ranges: readonly string[];
  readonly isOpenMetrics: boolean;
}

const TEXT: MetricsFormat = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  ranges: ['text/plain', 'text/*', '*/*'],
  isOpenMetrics: false,
};
const OPEN_METRICS: MetricsFormat = {
  contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  ranges: ['application/openmetrics-text', 'application/*', '*/*'],
  isOpenMetrics: true,
};

/**
 * Returns the format that a value of Accept prefers (RFC 9110 section 12.5.1): the one with the higher
 * quality, or the one that is named first. Text, if none is accepted. O(length).
 */
export function metricsFormat(accept: string): MetricsFormat {
  const ranges = accept.split(',').map(rangeOf);
  const text = preference(ranges, TEXT);
  const openMetrics = preference(ranges, OPEN_METRICS);
  if (openMetrics.quality === 0 || openMetrics.quality < text.quality) return TEXT;
  const isTie = openMetrics.quality === text.quality;
  return isTie && openMetrics.place >= text.place ? TEXT : OPEN_METRICS;
}

interface AcceptedRange {
  readonly type: string;
  readonly version: string | undefined;
  /** From 0 to 1; 0 also for an invalid one. */
  readonly quality: number;
}

function rangeOf(text: string): AcceptedRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const parameter = (name: string): string | undefined =>
    parameters.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
  const quality = parameter('q') ?? '1';
  const version = parameter('version')?.replaceAll('"', '');
  return { type, version, quality: QUALITY.test(quality) ? Number(quality) : 0 };
}

/** Returns the quality of a format, and the place of the range that gives it. */
function preference(
  accepted: readonly AcceptedRange[],
  { ranges, isOpenMetrics }: MetricsFormat,
): { readonly quality: number; readonly place: number } {
  for (const range of ranges) {
    const place = accepted.findIndex(
      ({ type, version }) =>
        type === range && (!isOpenMetrics || version === undefined || version === '1.0.0'),
    );
    if (place >= 0) return { quality: accepted[place]!.quality, place };
  }
  return { quality: 0, place: 0 };
}

export class MetricsText implements Figures {
  readonly #isOpenMetrics: boolean;
  /** The lines of each metric, in the order of their first samples. */
  readonly #groups = new Map<Metric, string[]>();

  constructor({ isOpenMetrics }: MetricsFormat) {
    this.#isOpenMetrics = isOpenMetrics;
  }

  add(metric: Metric, value: number, ...labels: readonly string[]): void {
    this.#linesOf(metric).push(`${metric.name}${labelsOf(metric, labels)} ${numberOf(value)}`);
  }

  addState(
    metric: Metric,
    states: readonly string[],
    current: string,
    ...labels: readonly string[]
  ): void {
    for (const state of states) this.add(metric, state === current ? 1 : 0, ...labels, state);
  }

  addDurations(
    metric: Metric,
    { counts, sumMs }: DurationHistogram,
    ...labels: readonly string[]
  ): void {
    const { name } = metric;
    const lines = this.#linesOf(metric);
    const bounded = { ...metric, labels: [...metric.labels, 'le'] };
    let total = 0;
    for (const [bucket, count] of counts.entries()) {
      total += count;
      const bound = this.#boundOf(DURATION_BOUNDS_SECONDS[bucket]);
      lines.push(`${name}_bucket${labelsOf(bounded, [...labels, bound])} ${total}`);
    }
    const own = labelsOf(metric, labels);
    lines.push(`${name}_sum${own} ${numberOf(sumMs / 1000)}`, `${name}_count${own} ${total}`);
  }

  /** Returns the text. */
  end(): string {
    const lines = [...this.#groups].flatMap(([metric, samples]) => {
      const { name, type, help } = metric;
      const family = this.#isOpenMetrics && type === 'counter' ? name.replace(/_total$/, '') : name;
      return [`# HELP ${family} ${help}`, `# TYPE ${family} ${type}`, ...samples];
    });
    if (this.#isOpenMetrics) lines.push('# EOF');
    return lines.map((line) => `${line}\n`).join('');
  }

  #linesOf(metric: Metric): string[] {
    const known = this.#groups.get(metric);
    if (known !== undefined) return known;
    const lines: string[] = [];
    this.#groups.set(metric, lines);
    return lines;
  }

  /** Returns the upper bound of a bucket, in seconds; that of the last one is infinite. */
  #boundOf(seconds: number | undefined): string {
    if (seconds === undefined) return '+Inf';
    return this.#isOpenMetrics && Number.isInteger(seconds) ? seconds.toFixed(1) : String(seconds);
  }
}

function labelsOf({ labels: names }: Metric, values: readonly string[]): string {
  if (names.length === 0) return '';
  const pairs = names.map((name, index) => `${name}="${escaped(values[index] ?? '')}"`);
  return `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => ESCAPES[character]!);
}

function numberOf(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

/** RFC 9110 section 12.4.2. */
const QUALITY = /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };
