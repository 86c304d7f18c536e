/**
 * Covers src/config/variable-names.ts. Variables of the original: each sets the value that it has
 * in the original, or is refused by name.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigFault } from '../../../src/config/config-fault.ts';
import { explainAsJson } from '../../../src/config/explain.ts';
import { linesOf } from '../../../src/config/finding.ts';
import { type LoadedConfig, loadConfig } from '../../../src/config/load.ts';
import { writeConfig } from '../documents.ts';
import { ENVIRONMENT_FORMS, type EnvironmentForm } from './environment-forms.ts';

const OBSERVED = new RegExp(
  [
    /^(cluster-name|instance-name|lite-member\.enabled|security\.enabled)$/,
    /^network\.(port|public-address|interfaces|ssl|join\.tcp-ip|rest-api\.(enabled$|endpoint))/,
    /^(map\..*\.(time-to-live|max-idle|backup)|queue\..*\.(max-size|backup)|persistence\.(enabled|base))/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

describe('loadConfig of variables of the original', () => {
  for (const form of ENVIRONMENT_FORMS) {
    const { variables, file = 'hazelcast: {}' } = form;
    it(`${JSON.stringify(variables)} with ${file.slice(0, 120)}`, () => check(form));
  }

  it('is tested with enough variables that the original accepts', () => {
    const refused = ENVIRONMENT_FORMS.filter(({ original }) => original === 'refuses');
    assert.ok(ENVIRONMENT_FORMS.length - refused.length >= 60);
  });
});

async function check({ variables, file: text = 'hazelcast: {}', original }: EnvironmentForm) {
  const file = writeConfig(text.startsWith('<') ? 'form.xml' : 'form.yaml', text);
  const alone = await loadConfig({ file, environment: {}, flags: [] });
  const loading = loadConfig({ file, environment: { ...variables }, flags: [] });
  const outcome = await loading.catch((error: unknown) => {
    assert.ok(error instanceof ConfigFault, String(error));
    return error.problems;
  });
  const names = Object.keys(variables);
  const refusals = 'config' in outcome ? linesOf(outcome.findings, 'refused') : outcome;
  const named = refusals.filter((line) => names.some((name) => line.includes(name)));
  if (named.length > 0 || original === 'refuses') return;
  assert.ok('config' in outcome, refusals.join('\n'));
  const [before, after] = [valuesOf(alone), valuesOf(outcome)];
  for (const path of new Set([...Object.keys(original), ...Object.keys(after)])) {
    // TLS files have no meaning while TLS is off.
    if (path.startsWith('network.ssl.properties.') && !outcome.config.tlsEnabled) continue;
    const expected: unknown = original[path] ?? before[path];
    // A name with only defaults equals one without settings.
    assert.equal(textOf(after[path] ?? 0), textOf(expected ?? 0), path);
  }
}

function valuesOf(loaded: LoadedConfig): Record<string, unknown> {
  const settings: Record<string, { readonly value: unknown }> = JSON.parse(explainAsJson(loaded));
  const values = Object.entries(settings).filter(([path]) => OBSERVED.test(path));
  // The original has the names of properties in lower case.
  return Object.fromEntries(
    values.map(([path, { value }]) => [
      path.replace(/properties\..*/, (property) => property.toLowerCase()),
      value,
    ]),
  );
}

/** Returns a text to compare; the items of lists have no order in the original. */
function textOf(value: unknown): string {
  return Array.isArray(value) ? value.toSorted().join() : String(value);
}
