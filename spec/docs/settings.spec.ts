/**
 * The tables of settings in docs/settings.md and of refusals in docs/operations.md, which `make
 * docs` writes, and the configuration files in the pages, which the loader must accept.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { REFUSALS } from '../../src/base/refusals.ts';
import { settingsTables } from '../../src/member/describe.ts';
import { load } from '../config/documents.ts';
import { PAGES, ROOT } from './pages.ts';

/** A valid password hash, for hashes that a page abbreviates. */
const HASH = `scrypt$32768$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** A row of the table in Markdown; placeholders in the text are shown by name. */
function rowOf([code, row]: [string, (typeof REFUSALS)[keyof typeof REFUSALS]]): string {
  const text = row.message.replace(/\{(\w+)\}/g, '*$1*').replaceAll('|', '\\|');
  const isEmpty = 'isEmpty' in row && row.isEmpty;
  return `| \`${code}\` | ${row.status} | ${text} | ${isEmpty ? 'log' : 'answer, log'} |`;
}

function refusalsTable(): string {
  const rows = Object.entries(REFUSALS).map((entry) => rowOf(entry));
  return ['| Code | Status | Text | In |', '|---|---|---|---|', ...rows].join('\n');
}

for (const [page, mark, tables] of [
  ['docs/settings.md', 'settings', settingsTables],
  ['docs/operations.md', 'refusals', refusalsTable],
] as const) {
  test(`${page} has the current tables of ${mark}, which \`make docs\` writes`, () => {
    const path = join(ROOT, page);
    const before = readFileSync(path, 'utf8');
    const part = new RegExp(`(?<=<!-- ${mark} -->\n)[^]*(?=<!-- /${mark} -->)`);
    assert.match(before, part);
    const after = before.replace(part, () => `\n${tables()}\n\n`);
    if (process.env.UPDATE_DOCS === '1') writeFileSync(path, after);
    else assert.equal(after, before);
  });
}

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
