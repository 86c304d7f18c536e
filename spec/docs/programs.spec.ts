/** Runs every program in the pages that uses the library. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { transformSync } from 'esbuild';
import { temporaryFolder } from '../temporary-folder.ts';
import { EXAMPLE_PROGRAMS } from './example-programs.ts';
import { ROOT } from './pages.ts';

const TSX = fileURLToPath(import.meta.resolve('tsx'));
/** The built library loads in a fraction of the time of the sources. */
const isBuilt = process.env.SPEC_PROGRAM === 'built';

test('pages show programs as CommonJS, as an ES module and in TypeScript', () => {
  const files = new Set(EXAMPLE_PROGRAMS.map(({ file }) => file));
  assert.deepEqual([...files].sort(), ['program.cjs', 'program.mjs', 'program.mts']);
});

for (const { text, where, file } of EXAMPLE_PROGRAMS) {
  test(`the program at ${where} ends without an error`, async () => {
    const folder = temporaryFolder();
    const program = text.replace("'gridnode'", JSON.stringify(libraryFor(file)));
    const isTyped = file === 'program.mts';
    const name = isTyped ? 'program.mjs' : file;
    const code = isTyped ? transformSync(program, { loader: 'ts' }).code : program;
    writeFileSync(join(folder, name), code);
    const words = isBuilt ? [name] : ['--import', TSX, name];
    const { stderr } = await promisify(execFile)(process.execPath, words, { cwd: folder });
    assert.equal(stderr, '');
  });
}

function libraryFor(file: string): string {
  if (!isBuilt) return join(ROOT, 'src/index.ts');
  return join(ROOT, 'dist', file === 'program.cjs' ? 'index.cjs' : 'index.mjs');
}
