/**
 * The blocks of README that install and run gridnode, followed in an empty folder with Node, npm,
 * make and git: from a clone, and from the package. The block for containers needs an image.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pageOf } from '../docs/pages.ts';
import { freePort } from '../free-port.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { ROOT, runChecked } from './tools.ts';

const folder = temporaryFolder();
const clone = join(folder, 'gridnode');
const globals = join(folder, 'global');
const env: NodeJS.ProcessEnv = {
  ...process.env,
  npm_config_prefix: globals,
  PATH: `${join(globals, 'bin')}${delimiter}${process.env.PATH}`,
};
// make passes these to its children: a nested make would run as part of this one.
for (const name of ['MAKEFLAGS', 'MAKELEVEL', 'MFLAGS', 'NODE_TEST_CONTEXT']) delete env[name];

function blockOf(name: string): string {
  const found = pageOf('README.md').blocks.find(({ mark }) => mark === `install: ${name}`);
  assert.ok(found !== undefined, name);
  return found.text;
}

/**
 * Runs the commands in a shell until the member serves on the port, reads an entry, which it puts
 * first unless it is stored, and sends the signal of Ctrl+C to all processes.
 */
async function follow(
  commands: string,
  port: number,
  cwd: string,
  isStored = false,
): Promise<void> {
  const options = { cwd, env, detached: true };
  const shell = spawn('bash', ['-ec', commands], options);
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exited = once(shell, 'exit');
  try {
    while (!output.includes('"msg":"listening"')) {
      assert.equal(shell.exitCode, null, output);
      await sleep(20);
    }
    const address = `127.0.0.1:${port}/grid/rest/maps/people/ada`;
    if (!isStored) await runChecked('curl', ['-sfS', '-d', 'Ada', address]);
    assert.equal(await runChecked('curl', ['-sfS', address]), 'Ada');
  } finally {
    process.kill(-(shell.pid ?? 0), 'SIGINT');
    await exited;
  }
  assert.match(output, /"msg":"stopped"/);
}

test('the block for a clone serves maps after git clone, and so does another PORT', async () => {
  const port = await freePort();
  const commands = blockOf('clone').replace('URL', `'${ROOT}'`);
  assert.match(commands, /^git clone .*make run$/ms);
  await follow(commands.replace(/make run$/m, `make run PORT=${port}`), port, folder);
});

test('the block for the package serves maps from the tarball of npm pack, and stores them', async () => {
  const elsewhere = join(folder, 'elsewhere');
  mkdirSync(elsewhere);
  await runChecked('npm', ['pack', '--pack-destination', elsewhere], { cwd: clone, env });
  const port = await freePort();
  const commands = blockOf('package').replace(/^gridnode serve.*/m, `$& --port ${port}`);
  await follow(commands, port, elsewhere);
  await follow(commands.replaceAll('npm ', ': npm '), port, elsewhere, true);
});
