/**
 * The metrics of a member. Each part has a table of its own metrics, and reports their values when
 * they are scraped. The writer (telemetry/metrics-text.ts) knows no part, so a further metric is one
 * row of a table and one call. Tested by telemetry/metrics-text.spec.ts.
 */
import type { DurationHistogram } from './duration-histogram.ts';

export interface Metric {
  /** The whole name, with its prefix; that of a counter ends with `_total`. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One line of text. */
  readonly help: string;
  /** The names of the labels. Each series has a value for each, in this order. */
  readonly labels: readonly string[];
}

/** Receives the values of one scrape. */
export interface Figures {
  /** Reports the value of a counter or gauge. `labels`: the values of its labels, any text. */
  add(metric: Metric, value: number, ...labels: readonly string[]): void;
  /** Reports 1 for the `current` state and 0 for the others; the state is the metric's last label. */
  addState(
    metric: Metric,
    states: readonly string[],
    current: string,
    ...labels: readonly string[]
  ): void;
  /** Reports a histogram of durations. */
  addDurations(metric: Metric, durations: DurationHistogram, ...labels: readonly string[]): void;
}

export function counter(name: string, help: string, ...labels: readonly string[]): Metric {
  return { name, type: 'counter', help, labels };
}

export function gauge(name: string, help: string, ...labels: readonly string[]): Metric {
  return { name, type: 'gauge', help, labels };
}

export function histogram(name: string, help: string, ...labels: readonly string[]): Metric {
  return { name, type: 'histogram', help, labels };
}
