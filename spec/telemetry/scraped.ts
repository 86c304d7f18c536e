/** Reads the samples that a part reports, as a scraper sees them. */
import type { Figures } from '../../src/base/figures.ts';
import { samplesOf } from './read-metrics.ts';

/** Returns the values by series, such as `gridnode_log_lines_total{level="warn"}`. */
export function scraped(report: (to: Figures) => void): Record<string, number> {
  return Object.fromEntries(samplesOf({ figures: report }));
}
