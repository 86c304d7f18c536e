/** docs/operations.md lists the table of refusals; `make docs` writes it. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { REFUSALS } from '../../src/base/refusals.ts';
import { ROOT } from './pages.ts';

const PAGE = join(ROOT, 'docs/operations.md');

/** A row of the table in Markdown; a place in the text is shown by its name. */
function rowOf([code, row]: [string, (typeof REFUSALS)[keyof typeof REFUSALS]]): string {
  const text = row.message.replace(/\{(\w+)\}/g, '*$1*').replaceAll('|', '\\|');
  const isEmpty = 'isEmpty' in row && row.isEmpty;
  return `| \`${code}\` | ${row.status} | ${text} | ${isEmpty ? 'log' : 'answer, log'} |`;
}

test('docs/operations.md lists the table of refusals; `make docs` writes it', () => {
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
