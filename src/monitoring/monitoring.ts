/**
 * Monitoring as a part of a member: collects the metrics of all parts, and the history of the load.
 * Tested by monitoring-actions.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import type { Figures } from '../base/figures.ts';
import type { OpenFiles } from '../base/open-files.ts';
import type { Part } from '../base/part.ts';
import type { HttpTraffic } from '../telemetry/http-traffic.ts';
import { type MetricsFormat, MetricsText } from '../telemetry/metrics-text.ts';
import { ProcessMetrics } from '../telemetry/process-metrics.ts';
import { History } from './history.ts';
import { memberStatus, type StatusSources } from './member-status.ts';
import type { MemberStatus } from './status-report.ts';

export interface MonitoringOptions extends StatusSources {
  readonly clock: Clock;
  readonly traffic: HttpTraffic;
  /** Open files of the process at its start. */
  readonly files: OpenFiles;
  /** All parts of the member, this one included. */
  readonly parts: () => readonly Part<never>[];
}

export class Monitoring implements Part<unknown> {
  readonly #options: MonitoringOptions;
  readonly #process: ProcessMetrics;
  readonly #history: History;
  readonly #startTime: number;

  constructor(options: MonitoringOptions) {
    this.#options = options;
    this.#startTime = options.clock.wall();
    this.#process = new ProcessMetrics(options.files, this.#startTime);
    this.#history = new History(options);
  }

  /** Returns the text of the metrics of all parts. */
  scrape(format: MetricsFormat): string {
    const text = new MetricsText(format);
    for (const part of this.#options.parts()) part.figures?.(text);
    return text.end();
  }

  status(): MemberStatus {
    return memberStatus(this.#options, this.#startTime, this.#history.report);
  }

  figures(to: Figures): void {
    this.#process.figures(to);
  }

  async close(): Promise<void> {
    this.#process.end();
  }
}
