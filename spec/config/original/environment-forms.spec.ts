/**
 * Covers src/config/variable-names.ts. Variables of the original: each sets the value that it has
 * in the original, or is refused by name.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ConfigFault, linesOf } from '../../../src/config/finding.ts';
import { explainAsJson } from '../../../src/member/explain.ts';
import { type LoadedConfig, loadConfig } from '../../../src/member/load.ts';
import { writeConfig } from '../documents.ts';

const OBSERVED = new RegExp(
  [
    /^(cluster-name|instance-name|lite-member\.enabled|security\.enabled)$/,
    /^network\.(port|public-address|interfaces|ssl|join\.tcp-ip|rest-api\.(enabled$|endpoint))/,
    /^(map\..*\.(time-to-live|max-idle|backup)|queue\..*\.(max-size|backup)|persistence\.(enabled|base))/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

interface EnvironmentForm {
  readonly variables: Readonly<Record<string, string>>;
  readonly file: string;
  /** Settings by path. */
  readonly original: Readonly<Record<string, unknown>> | 'refused';
}

/** Returns the forms of environment-forms.txt, which describes the notation. */
function* readForms(text: string): Generator<EnvironmentForm> {
  const joined = text.replace(/^#.*\n/gm, '').replaceAll('\n  ', ' ');
  let file = 'hazelcast: {}';
  for (const [, fileLines, line = ''] of joined.matchAll(/^((?:= .*\n)*)(.*)\n/gm)) {
    if (fileLines) file = fileLines.replace(/^= /gm, '');
    const [variables = '', effect = ''] = line.split(' -> ');
    const original = effect === 'refused' ? effect : valuesIn(effect, JSON.parse);
    const read = (value: string) => (value.startsWith('"') ? JSON.parse(value) : value);
    yield { variables: valuesIn<string>(variables, read), file, original };
  }
}

/** Returns the values in `name=value …` by name. */
function valuesIn<Value>(text: string, read: (value: string) => Value): Record<string, Value> {
  const found = text.matchAll(/([^\s=]+)=("(?:[^"\\]|\\.)*"|\S+)/g);
  return Object.fromEntries(
    [...found].map(([, name = '', value = '']) => [name.replace('\\u0020', ' '), read(value)]),
  );
}

const FORMS = [
  ...readForms(readFileSync(join(import.meta.dirname, 'environment-forms.txt'), 'utf8')),
];

describe('loadConfig of variables of the original', () => {
  for (const form of FORMS) {
    const { variables, file } = form;
    it(`${JSON.stringify(variables)} with ${file.slice(0, 120)}`, () => check(form));
  }

  it('is tested with enough variables that the original accepts', () => {
    assert.ok(FORMS.filter(({ original }) => original !== 'refused').length >= 60);
  });
});

async function check({ variables, file: text, original }: EnvironmentForm) {
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
  if (named.length > 0 || original === 'refused') return;
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
