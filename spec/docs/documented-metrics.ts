/** The tables of metrics and of alerts in docs/operations.md. */
import { pageOf } from './pages.ts';

interface DocumentedMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

export function documentedMetrics(): DocumentedMetric[] {
  return tableRows().flatMap(([names = '', type = '', labels = '']) => {
    if (!/^(counter|gauge|histogram)$/.test(type)) return [];
    return codeIn(names).map((name) => ({ name, type, labels: codeIn(labels) }));
  });
}

/** Returns the names of the alerts, in parentheses in the table, and the metrics in their rows. */
export function documentedAlerts(): { readonly alerts: string[]; readonly metrics: string[] } {
  const rows = tableRows()
    .map(([signal = '', when = '']) => ({ text: `${signal} ${when}` }))
    .filter(({ text }) => /\(Gridnode/.test(text));
  return {
    alerts: rows.flatMap(({ text }) =>
      [...text.matchAll(/\((Gridnode\w+)/g)].map(([, name = '']) => name),
    ),
    metrics: rows.flatMap(({ text }) => codeIn(text).filter((code) => /^[a-z]+_\w+$/.test(code))),
  };
}

/** Returns the cells of the rows of all tables of the page. */
function tableRows(): string[][] {
  return pageOf('docs/operations.md')
    .lines.filter(({ kind }) => kind === 'table')
    .map(({ text }) =>
      text
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

function codeIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}
