/**
 * Metrics of the process and of Node, with the names and types that dashboards for Node use. The lag of
 * the event loop is measured from the first scrape on, and each scrape reports it since the last one.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { counter, type Figures, gauge } from '../base/figures.ts';
import { type OpenFiles, openFileCount } from '../base/open-files.ts';

const METRICS = {
  cpu: counter('process_cpu_seconds_total', 'Processor time of the process, in seconds'),
  start: gauge('process_start_time_seconds', 'Start of the process, in seconds since 1970'),
  resident: gauge('process_resident_memory_bytes', 'Resident memory of the process'),
  openFiles: gauge('process_open_fds', 'Open file descriptors'),
  openFilesMax: gauge('process_max_fds', 'Limit for open file descriptors'),
  heapTotal: gauge('nodejs_heap_size_total_bytes', 'Size of the heap of JavaScript'),
  heapUsed: gauge('nodejs_heap_size_used_bytes', 'Used part of the heap of JavaScript'),
  external: gauge(
    'nodejs_external_memory_bytes',
    'Memory outside of the heap, stored data included',
  ),
  lagMedian: gauge('nodejs_eventloop_lag_p50_seconds', 'Median lag of the event loop'),
  lagHigh: gauge(
    'nodejs_eventloop_lag_p99_seconds',
    '99th percentile of the lag of the event loop',
  ),
  lagMax: gauge('nodejs_eventloop_lag_max_seconds', 'Maximum lag of the event loop'),
  version: gauge('nodejs_version_info', 'Version of Node', 'version'),
};

/**
 * Interval of the timer that measures the lag, in ms. Its delays include it. With 20 ms a GET costs 1 %
 * more.
 */
const RESOLUTION_MS = 50;
const NANOSECONDS = 1e9;

export class ProcessMetrics {
  readonly #filesMax: number;
  readonly #startSeconds: number;
  #delay: ReturnType<typeof monitorEventLoopDelay> | undefined;

  /** `files`: the limit of the process. `wallMs`: the present time, in ms since 1970. */
  constructor({ limit }: OpenFiles, wallMs: number) {
    this.#filesMax = limit;
    this.#startSeconds = wallMs / 1000 - process.uptime();
  }

  figures(to: Figures): void {
    const { user, system } = process.cpuUsage();
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    to.add(METRICS.cpu, (user + system) / 1e6);
    to.add(METRICS.start, this.#startSeconds);
    to.add(METRICS.resident, rss);
    to.add(METRICS.openFiles, openFileCount());
    to.add(METRICS.openFilesMax, this.#filesMax);
    to.add(METRICS.heapTotal, heapTotal);
    to.add(METRICS.heapUsed, heapUsed);
    to.add(METRICS.external, external);
    to.add(METRICS.version, 1, process.version);
    this.#reportLag(to);
  }

  /** Ends the measurement of the lag. */
  end(): void {
    this.#delay?.disable();
  }

  #reportLag(to: Figures): void {
    if (this.#delay === undefined) {
      this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      this.#delay.enable();
    }
    const delay = this.#delay;
    to.add(METRICS.lagMedian, lagOf(delay.percentile(50)));
    to.add(METRICS.lagHigh, lagOf(delay.percentile(99)));
    to.add(METRICS.lagMax, lagOf(delay.max));
    delay.reset();
  }
}

/** Returns the lag in seconds of a delay in nanoseconds; 0 before the first measurement. */
function lagOf(delay: number): number {
  return Number.isFinite(delay) ? Math.max(0, delay / NANOSECONDS - RESOLUTION_MS / 1000) : 0;
}
