/**
 * The tables of settings in docs/settings.md, which `make docs` writes, and the configuration files
 * in the pages, which the loader must accept.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { settingsTables } from '../../src/config/describe.ts';
import { load } from '../config/documents.ts';
import { PAGES, ROOT } from './pages.ts';

const PAGE = join(ROOT, 'docs/settings.md');
/** A valid password hash, for hashes that a page abbreviates. */
const HASH = `scrypt$32768$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

test('docs/settings.md has the current tables of settings, which `make docs` writes', () => {
  const before = readFileSync(PAGE, 'utf8');
  const after = before.replace(
    /(?<=<!-- settings -->\n)[\s\S]*(?=<!-- \/settings -->)/,
    () => `\n${settingsTables()}\n\n`,
  );
  if (process.env.UPDATE_DOCS === '1') writeFileSync(PAGE, after);
  else assert.equal(after, before);
});

const files = PAGES.flatMap(({ path, blocks }) =>
  blocks
    .filter(({ text }) => /^(grid:|hazelcast:|<\?xml|<grid|<hazelcast)/.test(text))
    .map(({ text, language, number }) => ({ text, language, where: `${path}:${number}` })),
);

test('pages show configuration files', () => assert.ok(files.length > 1));

for (const { text, language, where } of files) {
  test(`the configuration at ${where} loads, and none of its settings is refused`, async () => {
    const whole = text.replace(/scrypt\$[^'"]*…/g, HASH);
    const { refused } = await load(`member.${language}`, whole);
    assert.deepEqual(refused, []);
  });
}
