/** The output of `make build`: the executable as npm links it, and the benches. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { NODE_FLAGS } from '../../bench/load/program.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const DIST = join(import.meta.dirname, '../../dist');

test('the executable replaces its shell by Node with the flags, and passes on arguments and signals', async () => {
  const folder = mkdtempSync(join(temporaryFolder(), 'grid node '));
  symlinkSync(join(DIST, 'bin/gridnode.js'), join(folder, 'gridnode'));
  const words = ['serve', '--port', '0', '--cluster-name', 'two words'];
  const child = spawn(join(folder, 'gridnode'), words, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const [, ...seen] = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  assert.deepEqual(seen, [...NODE_FLAGS, join(folder, 'gridnode'), ...words]);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('the build keeps the compiled code of members', () => {
  const code = `program-${process.version}-${process.arch}-serve.cache`;
  assert.ok(existsSync(join(DIST, 'bin', code)));
});

test('the compiled benches run, including benches that start processes', () => {
  const words = [join(DIST, 'bench/main.js'), '--small', 'background-work', 'router'];
  assert.match(execFileSync(process.execPath, words, { encoding: 'utf8' }), /longest pause/);
});

test('the executable reports in one line that Node is too old, and exits with 2', () => {
  const preload = join(temporaryFolder(), 'old.cjs');
  writeFileSync(preload, "Object.defineProperty(process, 'version', { value: 'v18.20.8' });");
  const { status, stdout, stderr } = spawnSync(join(DIST, 'bin/gridnode.js'), ['--version'], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: `--require ${preload}` },
  });
  const line = 'Cannot run on Node v18.20.8: gridnode needs Node 20.20 or newer\n';
  assert.deepEqual({ status, stdout, stderr }, { status: 2, stdout: '', stderr: line });
});

test('the built program reloads its configuration on a thread', async () => {
  const file = join(temporaryFolder(), 'grid.yaml');
  const text = (level: string) => `grid: {network: {port: 0}, log-level: ${level}}`;
  writeFileSync(file, text('INFO'));
  const child = spawn(join(DIST, 'bin/gridnode.js'), ['serve', '--config', file]);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  assert.match((await lines.next()).value ?? '', /"listening"/);
  writeFileSync(file, text('FINE'));
  child.kill('SIGHUP');
  assert.match((await lines.next()).value ?? '', /"changed":\["log-level"\]/);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
