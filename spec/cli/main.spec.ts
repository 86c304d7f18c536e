/** The command line as a process: what it prints to which stream, and its exit codes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VERSION } from '../../src/base/program-version.ts';
import { run } from './gridnode-process.ts';

test('gridnode --version prints the version', async () => {
  const { code, output, errors } = await run(['--version']);
  assert.deepEqual([code, output, errors], [0, `${VERSION}\n`, '']);
});

test('gridnode with a wrong command exits with 2 and prints the reason to standard error', async () => {
  const { code, output, errors } = await run(['sreve']);
  assert.deepEqual([code, output], [2, '']);
  assert.match(errors, /sreve'\n.*serve/);
});
