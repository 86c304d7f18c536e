/** Reads the samples that a part reports, as a scraper sees them. */
import type { Figures } from '../../src/base/figures.ts';
import { MetricsText, metricsFormat } from '../../src/telemetry/metrics-text.ts';

/** Returns the values by series, such as `gridnode_log_lines_total{level="warn"}`. */
export function scraped(report: (to: Figures) => void): Record<string, number> {
  const text = new MetricsText(metricsFormat('text/plain'));
  report(text);
  const samples = text
    .end()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    samples.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}
