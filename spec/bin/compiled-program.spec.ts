import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { compileProgram } from '../../bin/compiled-program.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const ran = globalThis as { ran?: string };

function keptProgram(): string {
  const file = join(temporaryFolder(), 'program.cjs');
  writeFileSync(file, 'function name() { return "one"; } globalThis.ran = name();');
  const program = compileProgram(file);
  assert.equal(program.isCached, false);
  program.run();
  program.keep();
  return file;
}

test('compileProgram runs the code that was cached', () => {
  const program = compileProgram(keptProgram());
  assert.equal(program.isCached, true);
  delete ran.ran;
  program.run();
  assert.equal(ran.ran, 'one');
});

test('compileProgram compiles a changed source, even if its length is the same', () => {
  const file = keptProgram();
  writeFileSync(file, readFileSync(file, 'latin1').replace('one', 'two'));
  const program = compileProgram(file);
  assert.equal(program.isCached, false);
  program.run();
  assert.equal(ran.ran, 'two');
});

test('compileProgram ignores cached code that is damaged or truncated', () => {
  const file = keptProgram();
  const cached = readFileSync(`${file}.cache`);
  for (const length of [0, 10, 32, 100, cached.length - 1]) {
    writeFileSync(`${file}.cache`, cached.subarray(0, length));
    assert.equal(compileProgram(file).isCached, false);
  }
  for (let at = 0; at < cached.length; at += 7) {
    const damaged = Buffer.from(cached);
    damaged.writeUInt8((damaged[at] as number) ^ 1, at);
    writeFileSync(`${file}.cache`, damaged);
    assert.equal(compileProgram(file).isCached, false);
  }
});
