import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs, {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { compileProgram } from '../../bin/compiled-program.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const NO_FOLDER = {};
const CODE_NAME = `program-${process.version}-${process.arch}-serve.cache`;
const ran = globalThis as { ran?: string };

/** Returns the folder of a program, and its file. */
function newProgram() {
  const folder = temporaryFolder();
  const file = join(folder, 'program.cjs');
  // V8 compiles equal sources of a process once, so each program has its own.
  const comment = `// ${folder}`;
  writeFileSync(file, `function name() { return "one"; } globalThis.ran = name(); ${comment}`);
  return { folder, file, code: join(folder, CODE_NAME) };
}

/** Starts the program, and keeps its code. Returns whether code that was kept before was used. */
function start(file: string, environment: NodeJS.ProcessEnv = NO_FOLDER): boolean {
  const program = compileProgram(file, 'serve', environment);
  delete ran.ran;
  program.run();
  assert.ok(ran.ran === 'one' || ran.ran === 'two');
  program.keep();
  return program.isCached;
}

test('compileProgram runs the code that was kept', () => {
  const { folder, file, code } = newProgram();
  assert.equal(start(file), false);
  assert.deepEqual(readdirSync(folder).sort(), [CODE_NAME, 'program.cjs']);
  assert.equal(statSync(code).mode & 0o777, 0o644 & ~process.umask());
  const before = readFileSync(code);
  assert.equal(start(file), true);
  assert.deepEqual(readFileSync(code), before);
});

test('compileProgram keeps code of each kind of start', () => {
  const { folder, file } = newProgram();
  start(file);
  const command = compileProgram(file, 'command', NO_FOLDER);
  assert.equal(command.isCached, false);
  command.run();
  command.keep();
  assert.equal(readdirSync(folder).length, 3);
  assert.equal(compileProgram(file, 'command', NO_FOLDER).isCached, true);
});

test('compileProgram compiles a changed source, even if its length is the same, and keeps its code', () => {
  const { file } = newProgram();
  start(file);
  writeFileSync(file, readFileSync(file, 'latin1').replace('one', 'two'));
  assert.equal(start(file), false);
  assert.equal(ran.ran, 'two');
  assert.equal(start(file), true);
});

test('compileProgram ignores kept code that is damaged or truncated, and replaces it', () => {
  const { file, code } = newProgram();
  start(file);
  const kept = readFileSync(code);
  const isUsed = () => compileProgram(file, 'serve', NO_FOLDER).isCached;
  for (const length of [0, 10, 32, 100, kept.length - 1]) {
    writeFileSync(code, kept.subarray(0, length));
    assert.equal(isUsed(), false);
  }
  for (let at = 0; at < kept.length; at += 7) {
    const damaged = Buffer.from(kept);
    damaged.writeUInt8((damaged[at] as number) ^ 1, at);
    writeFileSync(code, damaged);
    assert.equal(isUsed(), false);
  }
  assert.equal(start(file), false);
  assert.equal(start(file), true);
});

test('compileProgram leaves code that V8 refuses, as that of a start with other flags', () => {
  const { file, code } = newProgram();
  const refused = Buffer.alloc(100, 'x');
  const digest = createHash('sha256').update(readFileSync(file)).update(refused).digest();
  const content = Buffer.concat([digest, refused]);
  writeFileSync(code, content);
  assert.equal(start(file), false);
  assert.deepEqual(readFileSync(code), content);
});

test('compileProgram uses no code that other users could have written', () => {
  const { file, code } = newProgram();
  start(file);
  for (const mode of [0o664, 0o646]) {
    chmodSync(code, mode);
    assert.equal(compileProgram(file, 'serve', NO_FOLDER).isCached, false);
  }
  chmodSync(code, 0o600);
  assert.equal(compileProgram(file, 'serve', NO_FOLDER).isCached, true);
  if (process.geteuid?.() !== 0) return;
  chownSync(code, 12_345, 12_345);
  assert.equal(compileProgram(file, 'serve', NO_FOLDER).isCached, false);
});

test('compileProgram keeps code in the cache folder of the user, if it cannot do so beside the program', () => {
  const { folder, file, code } = newProgram();
  // A folder instead of a file, which root cannot write either.
  mkdirSync(code);
  const home = temporaryFolder();
  assert.equal(start(file, { HOME: home }), false);
  assert.deepEqual(readdirSync(join(home, '.cache/gridnode')), [CODE_NAME]);
  assert.equal(statSync(join(home, '.cache/gridnode')).mode & 0o777, 0o700);
  assert.equal(start(file, { HOME: home }), true);
  const cache = temporaryFolder();
  const given = { HOME: home, XDG_CACHE_HOME: cache };
  assert.equal(start(file, given), false);
  assert.equal(start(file, given), true);
  assert.ok(existsSync(join(cache, 'gridnode', CODE_NAME)));
  assert.deepEqual(readdirSync(folder).sort(), [CODE_NAME, 'program.cjs']);
});

test('compileProgram keeps no code in a folder that other users can change', () => {
  const { folder, file } = newProgram();
  const home = temporaryFolder();
  mkdirSync(join(home, '.cache'));
  mkdirSync(join(home, '.cache/gridnode'));
  for (const each of [folder, join(home, '.cache/gridnode')]) chmodSync(each, 0o777);
  assert.equal(start(file, { HOME: home }), false);
  assert.deepEqual(readdirSync(folder), ['program.cjs']);
  assert.deepEqual(readdirSync(join(home, '.cache/gridnode')), []);
  chmodSync(join(home, '.cache/gridnode'), 0o755);
  assert.equal(start(file, { HOME: home }), false);
  assert.equal(start(file, { HOME: home }), true);
  assert.deepEqual(readdirSync(folder), ['program.cjs']);
});

test('compileProgram keeps nothing without a folder for it', () => {
  const { folder, file, code } = newProgram();
  mkdirSync(code);
  for (const environment of [
    NO_FOLDER,
    { HOME: '' },
    { HOME: 'relative' },
    { HOME: join(folder, 'none') },
    { HOME: file },
  ]) {
    assert.equal(start(file, environment), false);
    assert.equal(start(file, environment), false);
  }
  assert.deepEqual(readdirSync(folder).sort(), [CODE_NAME, 'program.cjs']);
});

test('compileProgram waits for no pipe in place of kept code', () => {
  const { file, code } = newProgram();
  execFileSync('mkfifo', [code]);
  const module = new URL('../../bin/compiled-program.ts', import.meta.url).href;
  const script = `import { compileProgram } from ${JSON.stringify(module)};
    process.stdout.write(String(compileProgram(${JSON.stringify(file)}, 'serve', {}).isCached));`;
  const words = ['--import', 'tsx', '--input-type', 'module', '--eval', script];
  const output = execFileSync(process.execPath, words, { timeout: 60_000, encoding: 'utf8' });
  assert.equal(output, 'false');
});

test('compileProgram keeps code although a killed process of the same number left its file', () => {
  const { folder, file, code } = newProgram();
  writeFileSync(`${code}.${process.pid}`, 'half');
  assert.equal(start(file), false);
  assert.equal(start(file), true);
  assert.deepEqual(readdirSync(folder).sort(), [CODE_NAME, 'program.cjs']);
});

test('keeping code throws no error of the disk', () => {
  for (const name of ['writeFileSync', 'closeSync', 'renameSync', 'rmSync'] as const) {
    const { folder, file, code } = newProgram();
    const program = compileProgram(file, 'serve', NO_FOLDER);
    const call = fs[name] as (...values: unknown[]) => unknown;
    mock.method(fs, name, (...values: unknown[]) => {
      if (name === 'closeSync') call(values[0]);
      throw new Error('the disk is full');
    });
    syncBuiltinESMExports();
    try {
      program.keep();
    } finally {
      mock.restoreAll();
      syncBuiltinESMExports();
    }
    assert.deepEqual(
      readdirSync(folder),
      name === 'rmSync' ? ['program.cjs', CODE_NAME].sort() : ['program.cjs'],
    );
    assert.equal(existsSync(code), name === 'rmSync');
  }
});

test('compileProgram makes no folder of root in the home of another user', () => {
  if (process.geteuid?.() !== 0) return;
  const { file, code } = newProgram();
  mkdirSync(code);
  const home = temporaryFolder();
  chownSync(home, 12_345, 12_345);
  assert.equal(start(file, { HOME: home }), false);
  assert.deepEqual(readdirSync(home), []);
});
