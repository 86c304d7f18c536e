/**
 * The load of the last 300 seconds, in steps of one second, for the status. A step costs a few additions;
 * its timer does not keep the process alive. Steps that the event loop missed have no values.
 */

import type { Clock, Timer } from '../base/clock.ts';
import { BUCKET_COUNT, DURATION_BOUNDS_SECONDS } from '../base/duration-histogram.ts';
import type { HttpTraffic } from '../telemetry/http-traffic.ts';

const STEP_MS = 1000;
const STEPS = 300;

/** The values of a step, in the order of their columns. */
const COLUMNS = ['requests', 'errors', 'p50Ms', 'p99Ms', 'connections', 'memoryBytes'] as const;

type Column = (typeof COLUMNS)[number];

/** The history as the status has it. */
export interface LoadHistory extends Readonly<Record<Column, readonly (number | null)[]>> {
  readonly stepSeconds: number;
  /** End of the last step, in ms since 1970. */
  readonly endMs: number;
}

interface HistoryOptions {
  readonly clock: Clock;
  readonly traffic: Pick<HttpTraffic, 'requestCount' | 'errorCount' | 'timed'>;
  readonly connectionCount: () => number;
  /** The engine, if it stores the data in this member. */
  readonly stored: { readonly memoryBytes: number } | undefined;
}

export class History {
  readonly #options: HistoryOptions;
  /** Rings of STEPS values; NaN for none. */
  readonly #columns = COLUMNS.map(() => new Float64Array(STEPS).fill(Number.NaN));
  /** Place of the oldest step, which the next one replaces. */
  #place = 0;
  /** Time at which the last step ended, in ms of the clock. */
  #endMs: number;
  /** Time at which it ended, in ms since 1970. */
  #endWallMs: number;
  #requestCount = 0;
  #errorCount = 0;
  readonly #timed = new Float64Array(BUCKET_COUNT);
  /** Durations of the present step by bucket. */
  readonly #durations = new Float64Array(BUCKET_COUNT);
  #timer: Timer;

  constructor(options: HistoryOptions) {
    const { clock } = options;
    this.#options = options;
    this.#endMs = clock.now();
    this.#endWallMs = clock.wall();
    this.#timer = clock.after(STEP_MS, () => this.#step());
  }

  /** The history, the oldest step first, with null for no value. O(STEPS). */
  get report(): LoadHistory {
    const arrays = COLUMNS.map((name, column) => {
      const values = this.#columns[column]!;
      const inOrder = [...values.subarray(this.#place), ...values.subarray(0, this.#place)];
      return [name, inOrder.map((value) => (Number.isNaN(value) ? null : value))];
    });
    const columns = Object.fromEntries(arrays) as Record<Column, (number | null)[]>;
    return { stepSeconds: STEP_MS / 1000, endMs: this.#endWallMs, ...columns };
  }

  end(): void {
    this.#timer.cancel();
  }

  #step(): void {
    const { clock, traffic, connectionCount, stored } = this.#options;
    const nowMs = clock.now();
    const count = Math.max(1, Math.floor((nowMs - this.#endMs) / STEP_MS));
    for (let missed = Math.min(count, STEPS); missed > 1; missed--) this.#push();
    this.#endMs += count * STEP_MS;
    this.#endWallMs = clock.wall();
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) {
      this.#durations[bucket] = traffic.timed[bucket]! - this.#timed[bucket]!;
      this.#timed[bucket] = traffic.timed[bucket]!;
    }
    const { requestCount, errorCount } = traffic;
    this.#push(
      requestCount - this.#requestCount,
      errorCount - this.#errorCount,
      percentileMs(this.#durations, 0.5),
      percentileMs(this.#durations, 0.99),
      connectionCount(),
      stored?.memoryBytes ?? Number.NaN,
    );
    this.#requestCount = requestCount;
    this.#errorCount = errorCount;
    const delayMs = Math.max(1, this.#endMs + STEP_MS - nowMs);
    this.#timer = clock.after(delayMs, () => this.#step());
  }

  /** Adds a step; without values for one that was missed. */
  #push(...values: readonly number[]): void {
    for (const [column, ring] of this.#columns.entries())
      ring[this.#place] = values[column] ?? Number.NaN;
    this.#place = (this.#place + 1) % STEPS;
  }
}

/**
 * Returns the upper bound of the bucket that has the percentile, in ms; NaN without durations. Longer
 * durations than all bounds count as the last bound.
 */
function percentileMs(durations: Float64Array, share: number): number {
  let total = 0;
  for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) total += durations[bucket]!;
  if (total === 0) return Number.NaN;
  let left = Math.ceil(total * share);
  for (const [bucket, seconds] of DURATION_BOUNDS_SECONDS.entries()) {
    left -= durations[bucket]!;
    if (left <= 0) return seconds * 1000;
  }
  return DURATION_BOUNDS_SECONDS.at(-1)! * 1000;
}
