/**
 * The tables of metrics and alerts in docs/operations.md are consistent with the alerts and the
 * dashboard of packaging/. spec/peers/monitoring.peers.ts compares them with the metrics of members.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RULES, TARGETS } from '../peers/monitoring-examples.ts';
import { documentedAlerts, documentedMetrics } from './documented-metrics.ts';

const documented = documentedMetrics();
const { alerts, metrics } = documentedAlerts();

test('the table of alerts names every rule, and no other', () => {
  assert.deepEqual(alerts.toSorted(), RULES.map(({ alert }) => alert).sort());
});

test('the rows of alerts, the rules and the dashboard name only metrics of the tables', () => {
  const known = documented.flatMap(({ name, type }) =>
    type === 'histogram' ? ['bucket', 'count', 'sum'].map((part) => `${name}_${part}`) : [name],
  );
  const named = [...RULES, ...TARGETS].flatMap(({ expr }) => [
    ...expr.matchAll(/\b(?:gridnode|process|nodejs)_\w+/g),
  ]);
  const all = [...metrics, ...named.map(([name]) => name)];
  assert.deepEqual(
    all.filter((name) => !known.includes(name)),
    [],
  );
});

test('every label in a rule or on the dashboard is one of its metrics, or of the scrape', () => {
  const known = new Set(documented.flatMap(({ labels }) => labels));
  for (const label of ['le', 'job', 'instance', 'severity']) known.add(label);
  const used = [...RULES, ...TARGETS].flatMap(({ expr }) => [
    ...[...expr.matchAll(/[{,] ?(\w+)=~?"/g)].map(([, label = '']) => label),
  ]);
  assert.ok(used.length > 0);
  assert.deepEqual(
    used.filter((label) => !known.has(label)),
    [],
  );
});
