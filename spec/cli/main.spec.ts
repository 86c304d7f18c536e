/** The command line as a process: what it prints to which stream, and its exit codes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VERSION } from '../../src/base/program-version.ts';
import { run as runProcess } from './gridnode-process.ts';
import { run } from './run-command.ts';

test('gridnode --version prints the version', async () => {
  const { code, output, errors } = await runProcess(['--version']);
  assert.deepEqual([code, output, errors], [0, `${VERSION}\n`, '']);
});

test('gridnode with a wrong command exits with 2 and prints the reason to standard error', async () => {
  const { code, output, errors } = await runProcess(['sreve']);
  assert.deepEqual([code, output], [2, '']);
  assert.match(errors, /sreve'\n.*serve/);
});

test('gridnode serve --help lists every flag', async () => {
  const { code, output } = await run('serve', '--help');
  assert.equal(code, 0);
  for (const flag of ['--host', '--port', '--enable-group', '--queue', '--pipeline-max']) {
    assert.match(output, new RegExp(`${flag} <`));
  }
});
