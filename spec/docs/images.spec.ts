/** The images of README, which `make docs` writes: the recording of its tour, and its badges. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { sessions } from './console-blocks.ts';
import { badgeOf, recordingOf } from './images.ts';
import { pageOf, ROOT } from './pages.ts';

const { license, engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const [, ...tour] =
  sessions(false).find(({ page }) => page === 'the tour of README.md')?.steps ?? [];

const IMAGES: Readonly<Record<string, string>> = {
  tour: recordingOf(tour, 'The tour below in a terminal'),
  licence: badgeOf('licence', license),
  node: badgeOf('node', engines.node.replace('>=', '≥ ')),
  telemetry: badgeOf('telemetry', 'none'),
};

for (const [name, text] of Object.entries(IMAGES)) {
  const path = `docs/images/${name}.svg`;

  test(`${path} is the image that \`make docs\` writes`, () => {
    const file = join(ROOT, path);
    if (process.env.UPDATE_DOCS === '1') {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    assert.equal(readFileSync(file, 'utf8'), text);
  });

  test(`README shows ${path}`, () => {
    assert.ok(pageOf('README.md').lines.some((line) => line.text.includes(`](${path})`)));
  });
}

test('the recording has each line of the tour', () => {
  assert.ok(tour.length > 5);
  const shown = [...(IMAGES.tour ?? '').matchAll(/<text class="row[^>]*>([^<]*)</g)].map(
    ([, line = '']) =>
      line.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&'),
  );
  const lines = tour.flatMap(({ command, printed }) => [`$ ${command}`, ...printed.split('\n')]);
  assert.deepEqual(
    shown,
    lines.filter((line) => line !== ''),
  );
});
