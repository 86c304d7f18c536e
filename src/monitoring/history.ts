/**
 * The load of the last 300 seconds, in steps of one second, for the status. A timer would cost an idle
 * member more than all else. So a step ends with the first work of a later second, which is after all
 * responses of the step. Seconds without work have no responses.
 */
import type { Clock } from '../base/clock.ts';
import { BUCKET_COUNT, DURATION_BOUNDS_SECONDS } from '../base/duration-histogram.ts';
import type { HttpTraffic } from '../telemetry/http-traffic.ts';
import type { LoadHistory } from './status-report.ts';

const STEP_MS = 1000;
const STEPS = 300;
/** Maximum time by which the work of a second may seem earlier than its begin, in ms: clocks are rounded. */
const EARLY_MS = 5;

/** Names of the values of a step, in the order of their columns. */
const COLUMNS = ['requests', 'errors', 'p50Ms', 'p99Ms', 'connections', 'memoryBytes'] as const;

type Column = (typeof COLUMNS)[number];

/** The values of one step; NaN for none. */
type Step = Readonly<Record<Column, number>>;

interface HistoryOptions {
  readonly clock: Clock;
  readonly traffic: Pick<HttpTraffic, 'requestCount' | 'errorCount' | 'timed' | 'onSecond'>;
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
  /** Time at which the last step ended, in ms of the clock; a whole second since 1970. */
  #endMs: number;
  #requestCount = 0;
  #errorCount = 0;
  readonly #timed = new Float64Array(BUCKET_COUNT);
  /** Durations of the present step by bucket. */
  readonly #durations = new Float64Array(BUCKET_COUNT);

  constructor(options: HistoryOptions) {
    const { clock } = options;
    this.#options = options;
    this.#endMs = clock.now() - (clock.wall() % STEP_MS);
    options.traffic.onSecond = (nowMs) => this.#reach(nowMs);
  }

  /** The history, the oldest step first, with null for no value. O(STEPS). */
  get report(): LoadHistory {
    const { clock } = this.#options;
    const nowMs = clock.now();
    this.#reach(nowMs);
    const arrays = COLUMNS.map((name, column) => {
      const values = this.#columns[column]!;
      const inOrder = [...values.subarray(this.#place), ...values.subarray(0, this.#place)];
      return [name, inOrder.map((value) => (Number.isNaN(value) ? null : value))];
    });
    const columns = Object.fromEntries(arrays) as Record<Column, (number | null)[]>;
    const endMs = Math.round(clock.wall() - (nowMs - this.#endMs));
    return { stepSeconds: STEP_MS / 1000, endMs, ...columns };
  }

  /** Ends the steps that are over by now. The responses since the last call belong to the first one. */
  #reach(nowMs: number): void {
    const count = Math.floor((nowMs + EARLY_MS - this.#endMs) / STEP_MS);
    if (count < 1) return;
    this.#endMs += count * STEP_MS;
    const { traffic, connectionCount, stored } = this.#options;
    const { requestCount, errorCount } = traffic;
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) {
      this.#durations[bucket] = traffic.timed[bucket]! - this.#timed[bucket]!;
      this.#timed[bucket] = traffic.timed[bucket]!;
    }
    const connections = connectionCount();
    const memoryBytes = stored?.memoryBytes ?? Number.NaN;
    this.#push({
      requests: requestCount - this.#requestCount,
      errors: errorCount - this.#errorCount,
      p50Ms: percentileMs(this.#durations, 0.5),
      p99Ms: percentileMs(this.#durations, 0.99),
      connections,
      memoryBytes,
    });
    const [p50Ms, p99Ms] = [Number.NaN, Number.NaN];
    const idle: Step = { requests: 0, errors: 0, p50Ms, p99Ms, connections, memoryBytes };
    for (let left = Math.min(count, STEPS + 1); left > 1; left--) this.#push(idle);
    this.#requestCount = requestCount;
    this.#errorCount = errorCount;
  }

  #push(step: Step): void {
    for (const [column, name] of COLUMNS.entries())
      this.#columns[column]![this.#place] = step[name];
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
