/**
 * Counts the traffic of the member's HTTP servers. All counts are in arrays of fixed size, so a response
 * costs a few additions. Reported as metrics, and read once a second for the history.
 * Tested by http/traffic.spec.ts.
 */
import { BUCKET_COUNT, bucketOf, DurationHistogram } from '../base/duration-histogram.ts';
import { counter, type Figures, histogram } from '../base/figures.ts';
import { isServedMethod, methodName, OPTIONS } from '../http/methods.ts';
import {
  isUntimed,
  methodOf,
  NO_METHOD,
  rowOf,
  statusOf,
  type TrafficMeter,
} from '../http/traffic-meter.ts';

const METRICS = {
  requests: counter(
    'gridnode_http_requests_total',
    'Requests whose response was sent, by path, method and status',
    'route',
    'method',
    'status',
  ),
  durations: histogram(
    'gridnode_http_request_duration_seconds',
    'Time from a complete request to its response, by path',
    'route',
  ),
  received: counter('gridnode_http_received_bytes_total', 'Bytes received from clients'),
  sent: counter('gridnode_http_sent_bytes_total', 'Bytes sent to clients'),
  connections: counter('gridnode_http_connections_total', 'Accepted connections'),
  refused: counter(
    'gridnode_http_connections_refused_total',
    'Connections refused because of connections-max',
  ),
};

/** Maximum number of different statuses. */
const STATUSES_MAX = 64;
/** Statuses below this number have a column. */
const STATUS_END = 1000;
const FIRST_ERROR = 500;

export class HttpTraffic implements TrafficMeter {
  /** Number of responses, and of those with a status of 500 or more. */
  requestCount = 0;
  errorCount = 0;
  /** Responses to requests that do not wait, by duration. */
  readonly timed = new Float64Array(BUCKET_COUNT);
  /** Called by the servers; see TrafficMeter. */
  onSecond: (nowMs: number) => void = () => {};
  /** The path of each row; row 0 counts requests without a known path. */
  readonly #routes: readonly string[];
  /** Number of responses by row, method and column of their status. */
  readonly #counts: Float64Array;
  /** Number of responses by row and bucket of their duration, and the sum of their durations in ms. */
  readonly #buckets: Float64Array;
  readonly #sumsMs: Float64Array;
  /** The column of each status; 0 before it has happened. */
  readonly #columns = new Uint8Array(STATUS_END);
  /** The statuses of the columns. */
  readonly #statuses: number[] = [0];
  #receivedBytes = 0;
  #sentBytes = 0;
  #connectionCount = 0;
  #refusedCount = 0;

  /** `paths`: those of the table of the surface, in the order of their numbers. */
  constructor(paths: readonly string[]) {
    this.#routes = ['none', ...paths];
    const rows = this.#routes.length;
    this.#counts = new Float64Array(rows * LABELS.length * STATUSES_MAX);
    this.#buckets = new Float64Array(rows * BUCKET_COUNT);
    this.#sumsMs = new Float64Array(rows);
  }

  countResponses(exchange: number, count: number, durationMs: number): void {
    const row = rowOf(exchange);
    const status = statusOf(exchange);
    const bucket = bucketOf(durationMs);
    const column = this.#columns[status] || this.#columnOf(status);
    const method = METHOD_LABELS[methodOf(exchange)]!;
    this.#counts[(row * LABELS.length + method) * STATUSES_MAX + column]! += count;
    this.#buckets[row * BUCKET_COUNT + bucket]! += count;
    this.#sumsMs[row]! += count * durationMs;
    this.requestCount += count;
    if (status >= FIRST_ERROR) this.errorCount += count;
    if (!isUntimed(exchange)) this.timed[bucket]! += count;
  }

  countReceived(bytes: number): void {
    this.#receivedBytes += bytes;
  }

  countSent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  countConnection(isRefused: boolean): void {
    if (isRefused) this.#refusedCount++;
    else this.#connectionCount++;
  }

  figures(to: Figures): void {
    for (const [row, route] of this.#routes.entries()) this.#reportRow(to, row, route);
    to.add(METRICS.received, this.#receivedBytes);
    to.add(METRICS.sent, this.#sentBytes);
    to.add(METRICS.connections, this.#connectionCount);
    to.add(METRICS.refused, this.#refusedCount);
  }

  #reportRow(to: Figures, row: number, route: string): void {
    const buckets = this.#buckets.subarray(row * BUCKET_COUNT, (row + 1) * BUCKET_COUNT);
    if (buckets.every((count) => count === 0)) return;
    const durations = new DurationHistogram(buckets);
    durations.sumMs = this.#sumsMs[row]!;
    to.addDurations(METRICS.durations, durations, route);
    for (const [method, label] of LABELS.entries()) {
      for (const [column, status] of this.#statuses.entries()) {
        const count = this.#counts[(row * LABELS.length + method) * STATUSES_MAX + column]!;
        if (count > 0) to.add(METRICS.requests, count, route, label, String(status));
      }
    }
  }

  /** Returns the column of a status that has not happened before. */
  #columnOf(status: number): number {
    const column = this.#statuses.length;
    if (column === STATUSES_MAX) throw new RangeError(`Cannot count status ${status}: too many`);
    this.#columns[status] = column;
    this.#statuses.push(status);
    return column;
  }
}

/** The labels of methods: those that resources have, any other, and that of bytes without a request. */
const SERVED = Array.from({ length: OPTIONS + 1 }, (_, method) => method).filter(isServedMethod);
const LABELS: readonly string[] = [...SERVED.map(methodName), 'other', 'none'];
/** The number of the label of each method. */
const METHOD_LABELS = Uint8Array.from({ length: NO_METHOD + 1 }, (_, method) => {
  if (method === NO_METHOD) return LABELS.indexOf('none');
  return LABELS.indexOf(isServedMethod(method) ? methodName(method) : 'other');
});
