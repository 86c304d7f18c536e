import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exampleFile, settingsTable } from '../../src/config/describe.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { load } from './documents.ts';

const README = join(import.meta.dirname, '../../README.md');

test('README has the table of settings; `make readme` writes it', () => {
  const before = readFileSync(README, 'utf8');
  const after = before.replace(
    /(?<=<!-- settings -->\n)[\s\S]*(?=<!-- \/settings -->)/,
    () => `${settingsTable()}\n`,
  );
  if (process.env.UPDATE_README === '1') writeFileSync(README, after);
  else assert.equal(after, before);
});

test('exampleFile states nothing as it is', async () => {
  const { config, warnings } = await load('example.yaml', exampleFile());
  assert.deepEqual(
    [...config.sources].filter(([, { kind }]) => kind !== 'default'),
    [],
  );
  assert.deepEqual(warnings, []);
});

test('exampleFile states every setting that a file may hold once its lines are no comments', async () => {
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
