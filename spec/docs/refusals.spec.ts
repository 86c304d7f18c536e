/** The table of refusals in docs/operations.md, which `make docs` writes. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { REFUSALS } from '../../src/base/refusals.ts';
import { ROOT } from './pages.ts';

const PAGE = join(ROOT, 'docs/operations.md');

/** A row of the table in Markdown; placeholders in the text are shown by name. */
function rowOf([code, row]: [string, (typeof REFUSALS)[keyof typeof REFUSALS]]): string {
  const text = row.message.replace(/\{(\w+)\}/g, '*$1*').replaceAll('|', '\\|');
  const isEmpty = 'isEmpty' in row && row.isEmpty;
  return `| \`${code}\` | ${row.status} | ${text} | ${isEmpty ? 'log' : 'answer, log'} |`;
}

test('docs/operations.md has the current table of refusals, which `make docs` writes', () => {
  const rows = Object.entries(REFUSALS)
    .map((entry) => rowOf(entry))
    .join('\n');
  const table = `| Code | Status | Text | In |\n|---|---|---|---|\n${rows}`;
  const before = readFileSync(PAGE, 'utf8');
  const after = before.replace(
    /(?<=<!-- refusals -->\n)[\s\S]*(?=<!-- \/refusals -->)/,
    () => `\n${table}\n\n`,
  );
  assert.notEqual(before.indexOf('<!-- refusals -->'), -1);
  if (process.env.UPDATE_DOCS === '1') writeFileSync(PAGE, after);
  else assert.equal(after, before);
});
