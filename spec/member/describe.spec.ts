import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleFile, settingsTables } from '../../src/member/describe.ts';
import { SETTINGS, TABLE } from '../../src/member/settings.ts';
import { load } from '../config/documents.ts';

test('settingsTables lists each setting once, below its section', () => {
  const rows = settingsTables()
    .split('\n')
    .filter((line) => /^\| (`|no setting)/.test(line));
  assert.equal(rows.length, TABLE.all.length);
  assert.match(settingsTables(), /## Limits\n[^#]*network\.http\.body-bytes-max/);
});

test('exampleFile sets nothing, because its lines are comments', async () => {
  const { config, warnings } = await load('example.yaml', exampleFile());
  assert.deepEqual(
    [...config.sources].filter(([, { kind }]) => kind !== 'default'),
    [],
  );
  assert.deepEqual(warnings, []);
});

test('exampleFile sets every setting of a file when its lines are uncommented', async () => {
  const text = exampleFile()
    .replace(/^##.*\n/gm, '')
    .replace(/^#/gm, '')
    .replace(/(ssl:\n +enabled: )false/, '$1true')
    .replace('mutualAuthentication: NONE', 'mutualAuthentication: REQUIRED');
  const { config } = await load('example.yaml', text);
  for (const [key, row] of Object.entries(SETTINGS)) {
    if (row.path === undefined) continue;
    const stem = row.path.split('{name}')[0] ?? '';
    const sources = [...config.sources].filter(([path]) => path.startsWith(stem));
    assert.ok(
      sources.some(([, { kind }]) => kind === 'file'),
      key,
    );
  }
});
