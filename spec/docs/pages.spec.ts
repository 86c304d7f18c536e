/** The rules for pages: length, width, and links that resolve. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { type Link, linksOf, PAGES, pageOf, ROOT, readPage } from './pages.ts';

/** A front page: all that a reader needs to decide and begin, and no more. */
const README_LINES = { least: 200, most: 240 };
const COLUMNS_MAX = 100;

test(`README has ${README_LINES.least} to ${README_LINES.most} lines`, () => {
  const { length } = pageOf('README.md').lines;
  assert.ok(length >= README_LINES.least && length <= README_LINES.most, `${length} lines`);
});

test(`lines have at most ${COLUMNS_MAX} columns, except tables and link definitions`, () => {
  const wrong = PAGES.flatMap(({ path, lines }) =>
    lines
      .filter(({ kind }) => kind === 'prose' || (kind === 'code' && path === 'README.md'))
      .filter(({ text }) => [...text].length > COLUMNS_MAX)
      .map(({ text, number }) => `${path}:${number}: ${[...text].length} columns`),
  );
  assert.deepEqual(wrong, []);
});

test('every link leads to an existing file, and to an anchor in it', () => {
  assert.deepEqual(
    PAGES.flatMap((page) => linksOf(page).flatMap(faultsOf)),
    [],
  );
});

test('links of packaged pages lead to packaged files', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  // npm packages these regardless of `files`.
  const packed: readonly string[] = ['README.md', 'LICENSE', 'package.json', ...files];
  const isPacked = (path: string): boolean =>
    packed.some((each) => path === each || path.startsWith(`${each}/`));
  const wrong = PAGES.filter(({ path }) => isPacked(path))
    .flatMap(linksOf)
    .filter((link) => !isPacked(pathOf(link)))
    .map(({ target, where }) => `${where}: ${target}`);
  assert.deepEqual(wrong, []);
});

test('README links every other page', () => {
  const linked = new Set(linksOf(pageOf('README.md')).map(({ target }) => target.split('#')[0]));
  const missing = PAGES.map(({ path }) => path).filter(
    (path) => path !== 'README.md' && !linked.has(path),
  );
  assert.deepEqual(missing, []);
});

test('every page of docs/ begins with a heading and an introduction', () => {
  const wrong = PAGES.filter(({ path, lines }) => {
    const [heading, empty, first] = lines.map(({ text }) => text);
    const introduces = /^[A-Z]/.test(first ?? '') || first?.startsWith('<!--');
    return path.startsWith('docs/') && !(/^# /.test(heading ?? '') && empty === '' && introduces);
  });
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('readPage gives headings the anchors that the code host gives them', () => {
  const text = '# A `b.c`: d, e\n## A [b](c.md)\n```\n# no\n```\n## A b\n';
  assert.deepEqual([...readPage('p.md', text).anchors], ['a-bc-d-e', 'a-b', 'a-b-1']);
});

function faultsOf({ target, where }: Link): string[] {
  const anchor = target.split('#')[1];
  const path = pathOf({ target, where });
  if (!existsSync(join(ROOT, path))) return [`${where}: there is no ${path}`];
  if (anchor === undefined) return [];
  const page = PAGES.find((each) => each.path === path);
  const { anchors } = page ?? readPage(path, readFileSync(join(ROOT, path), 'utf8'));
  return anchors.has(anchor) ? [] : [`${where}: ${path} has no #${anchor}`];
}

/** The link's path from the project's root. */
function pathOf({ target, where }: Link): string {
  const [file = ''] = target.split('#');
  const from = where.slice(0, where.lastIndexOf(':'));
  return file === '' ? from : join(dirname(from), file);
}
