/** Every program in a page that uses the library runs to its end. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { PAGES, ROOT } from './pages.ts';

const LIBRARY = pathToFileURL(join(ROOT, 'src/index.ts')).href;

const programs = PAGES.flatMap(({ path, blocks }) =>
  blocks
    .filter(({ text }) => text.includes("from 'gridnode'"))
    .map(({ text, number }) => ({ text, where: `${path}:${number}` })),
);

test('pages show programs', () => assert.ok(programs.length > 1));

for (const { text, where } of programs) {
  test(`the program at ${where} runs to its end`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'docs-'));
    const before = process.cwd();
    const printed = mock.method(console, 'log', () => {});
    const file = join(folder, 'program.mjs');
    writeFileSync(file, text.replace("'gridnode'", JSON.stringify(LIBRARY)));
    process.chdir(folder);
    try {
      await import(pathToFileURL(file).href);
    } finally {
      process.chdir(before);
      printed.mock.restore();
      rmSync(folder, { recursive: true });
    }
  });
}
