/** The metrics of the log. */
import { counter, type Figures } from '../base/figures.ts';
import type { LineCounts } from './log.ts';

const METRICS = {
  lines: counter('gridnode_log_lines_total', 'Lines of the log, by level', 'level'),
};

export function reportLog(to: Figures, counts: LineCounts): void {
  for (const [level, count] of Object.entries(counts)) to.add(METRICS.lines, count, level);
}
