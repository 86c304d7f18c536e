/** The alerts and panels of packaging/, and promtool. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { parse } from 'yaml';
import { packaged } from './packaged-files.ts';

export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

/** A curve or number of a panel. */
interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}

interface Panel {
  readonly targets?: readonly Target[];
}

export const RULES: readonly Rule[] = parse(packaged('prometheus-rules.yaml')).groups[0].rules;

const { panels } = JSON.parse(packaged('grafana-dashboard.json')) as { panels: readonly Panel[] };
/** The expressions and legends of the dashboard. */
export const TARGETS: readonly Target[] = panels.flatMap(({ targets = [] }) => targets);

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
