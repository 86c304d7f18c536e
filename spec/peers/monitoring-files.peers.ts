/**
 * The alerts and the dashboard of packaging/: promtool checks the expressions and runs the cases of
 * the alerts, TypeScript checks the fields of the dashboard. No Grafana is run. monitoring.peers.ts
 * checks the metrics that they name.
 */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../temporary-folder.ts';
import { ALERT_CASES, type AlertCase } from './alert-cases.ts';
import { promtool, RULES, type Rule, TARGETS } from './monitoring-examples.ts';
import { packaged } from './packaged-files.ts';
import { ROOT, runChecked, toolFolder } from './tools.ts';

const folder = temporaryFolder();
const rulesFile = join(ROOT, 'packaging/prometheus-rules.yaml');

describe('the rules', () => {
  it('have no finding of promtool', () => {
    promtool(['check', 'rules', rulesFile]);
  });

  it('have cases each', () => {
    assert.deepEqual(
      RULES.map(({ alert }) => alert),
      Object.keys(ALERT_CASES),
    );
  });

  for (const rule of RULES) {
    it(`raise ${rule.alert} when they should, and only then`, () => {
      const cases = ALERT_CASES[rule.alert] ?? [];
      const file = join(folder, `${rule.alert}.test.yaml`);
      const tests = cases.flatMap((each) => [
        testOf(rule, each, each.fires, [expectedOf(rule, each)]),
        testOf(rule, each, each.quiet, []),
      ]);
      writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], tests }));
      promtool(['test', 'rules', file]);
    });
  }
});

function testOf(
  { alert }: Rule,
  { interval = '1m', at }: AlertCase,
  series: AlertCase['fires'],
  exp_alerts: readonly object[],
): object {
  const input_series = Object.entries(series).map(([name, values]) => ({ series: name, values }));
  return {
    interval,
    input_series,
    alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts }],
  };
}

function expectedOf({ labels, annotations }: Rule, { summary, labels: own }: AlertCase): object {
  const { description } = annotations;
  return { exp_labels: { ...labels, ...own }, exp_annotations: { summary, description } };
}

describe('the dashboard', () => {
  it('has only fields of Grafana, with their types', async () => {
    const project = join(folder, 'dashboard');
    mkdirSync(join(project, 'node_modules/@grafana'), { recursive: true });
    symlinkSync(toolFolder('@grafana/schema'), join(project, 'node_modules/@grafana/schema'));
    // The type of mappings is an enum, whose members TypeScript does not accept as texts.
    const text = packaged('grafana-dashboard.json').replaceAll(
      '"type": "value"',
      '"type": MappingType.ValueToText',
    );
    const lines = [
      "import { type Dashboard, MappingType } from '@grafana/schema';",
      `export const dashboard: Dashboard = ${text};`,
    ];
    writeFileSync(join(project, 'dashboard.ts'), lines.join('\n'));
    const compilerOptions = { strict: true, noEmit: true, types: [], module: 'esnext' };
    const options = { ...compilerOptions, moduleResolution: 'bundler', skipLibCheck: true };
    const config = { compilerOptions: options, files: ['dashboard.ts'] };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
    await runChecked(join(toolFolder('typescript'), 'bin/tsc'), ['-p', project]);
  });

  it('has expressions that promtool accepts', () => {
    const groups = TARGETS.map(({ expr }, index) => ({
      name: `panel ${index}`,
      rules: [{ record: `panel_${index}`, expr: expr.replaceAll('$__rate_interval', '1m') }],
    }));
    const file = join(folder, 'panels.yaml');
    writeFileSync(file, JSON.stringify({ groups }));
    promtool(['check', 'rules', file]);
  });
});
