/**
 * Covers src/config/setting.ts. Every boolean setting from every source accepts true and false
 * in any case; files and flags also accept 1 and 0.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentSchema } from '../../src/config/document-schema.ts';
import { ConfigFault } from '../../src/config/finding.ts';
import { isNamed, readBoolean } from '../../src/config/setting.ts';
import { loadConfig } from '../../src/member/load.ts';
import { SETTINGS, type SettingKey, TABLE } from '../../src/member/settings.ts';
import { load, loadText, xmlOf, yamlOf } from './documents.ts';
import { isWhole, schemaPaths } from './schema-paths.ts';

const TEXTS = ['1', '0', 'TRUE', 'False', 'yes', 'on', '01', 'truee'];

for (const form of ['yaml', 'xml'] as const) {
  test(`Every boolean in ${form} is true, false, 1 or 0`, async () => {
    const stated = { yaml: yamlOf, xml: xmlOf }[form];
    const booleans = schemaPaths(documentSchema(form, []), form)
      .filter(isWhole)
      .filter(({ types }) => types.some(({ expects }) => expects === 'true or false'));
    assert.ok(booleans.length > 100, `${booleans.length}`);
    for (const { steps } of booleans) {
      // Refused settings are not checked: settings like `security.enabled` need further settings.
      for (const text of ['1', '0', 'TRUE']) await loadText(stated('grid', steps, text).text);
      await assert.rejects(
        loadText(stated('grid', steps, 'yes').text),
        /"yes": not true or false/,
        steps.join('.'),
      );
    }
  });
}

test('Every boolean of the settings table is read identically from file, environment and flags', async () => {
  const rows = (Object.keys(SETTINGS) as SettingKey[])
    .map((key) => ({ key, row: TABLE.rowOf(key) }))
    .filter(({ row }) => row.expects === 'true or false');
  assert.ok(rows.length >= 6, `${rows.length}`);
  for (const { key, row } of rows) {
    const steps = (row.path ?? '').replace('{name}', 'DATA').split('.');
    const variable = `GRID_${steps.map((step) => step.replaceAll('-', '').toUpperCase()).join('_')}`;
    const name = isNamed(row) ? { name: 'DATA' } : {};
    for (const text of TEXTS) {
      const source = { kind: 'flag', name: '--flag' } as const;
      const ofVariable = () => load('own.yaml', 'grid: {cluster-name: a}', { [variable]: text });
      const sources = [
        () => loadText(yamlOf('grid', steps, `"${text}"`).text),
        ofVariable,
        () =>
          loadConfig({ file: undefined, environment: {}, flags: [{ key, text, source, ...name }] }),
      ];
      for (const read of sources) {
        const isWord = read !== ofVariable || /^[a-z]+$/i.test(text);
        const wanted = isWord ? readBoolean(text) : undefined;
        if (wanted === undefined) await assert.rejects(read(), ConfigFault, `${key} ${text}`);
        else {
          const value = (await read()).config[key];
          assert.equal(value instanceof Map ? value.get('DATA') : value, wanted, `${key} ${text}`);
        }
      }
    }
  }
});

test('Deprecated switches are also booleans', async () => {
  const text = (value: string) => `grid: {properties: {grid.rest.enabled: ${value}}}`;
  for (const [value, isOn] of [
    ['1', true],
    ['0', false],
    ['TRUE', true],
  ] as const) {
    assert.equal((await load('switch.yaml', text(value))).config.restEnabled, isOn);
  }
  await assert.rejects(load('switch.yaml', text('yes')), /grid\.rest\.enabled "yes": not true or/);
});
