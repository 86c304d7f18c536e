/** The alerts and panels of packaging/, and promtool. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { parse } from 'yaml';
import { packaged } from './example-proxies.ts';

export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

interface Panel {
  readonly targets?: readonly { readonly expr: string }[];
}

export const RULES: readonly Rule[] = parse(packaged('prometheus-rules.yaml')).groups[0].rules;

const { panels } = JSON.parse(packaged('grafana-dashboard.json')) as { panels: readonly Panel[] };
/** The expressions of the dashboard. */
export const PANEL_EXPRESSIONS: readonly string[] = panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }) => expr),
);

/** Runs promtool; returns its output. */
export function promtool(words: readonly string[], input = ''): string {
  const { error, status, stdout, stderr } = spawnSync('promtool', words, {
    input,
    encoding: 'utf8',
  });
  assert.equal(error, undefined, 'promtool is missing: apt-get install prometheus');
  assert.equal(status, 0, stdout + stderr);
  return stdout + stderr;
}
