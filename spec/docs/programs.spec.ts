/** Runs every program in the pages that uses the library. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { EXAMPLE_PROGRAMS } from './example-programs.ts';
import { ROOT } from './pages.ts';

const LIBRARY = join(ROOT, 'src/index.ts');
const TSX = fileURLToPath(import.meta.resolve('tsx'));

test('pages show programs as CommonJS, as an ES module and in TypeScript', () => {
  const files = new Set(EXAMPLE_PROGRAMS.map(({ file }) => file));
  assert.deepEqual([...files].sort(), ['program.cjs', 'program.mjs', 'program.mts']);
});

for (const { text, where, file } of EXAMPLE_PROGRAMS) {
  test(`the program at ${where} ends without an error`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'docs-'));
    try {
      writeFileSync(join(folder, file), text.replace("'gridnode'", JSON.stringify(LIBRARY)));
      const { stderr } = await promisify(execFile)(process.execPath, ['--import', TSX, file], {
        cwd: folder,
      });
      assert.equal(stderr, '');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
