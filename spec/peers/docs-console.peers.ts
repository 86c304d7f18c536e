/**
 * Runs the commands of the pages that need a shell, in bash, with the built program and curl. A
 * line `gridnode serve … &` starts a member on a free port, which replaces the port in the page.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { before, test } from 'node:test';
import {
  assertPrinted,
  type Session,
  sessions,
  shownPort,
  wordsOf,
} from '../docs/console-blocks.ts';
import { ROOT } from '../docs/pages.ts';
import { serveWith } from '../integration/member-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { requireProgram } from './tools.ts';

const PROGRAM = join(ROOT, 'dist/bin/gridnode.js');

const all = sessions(false);

before(() => requireProgram('curl'));

test('README has a tour', () => {
  const { steps = [] } = all.find(({ page }) => page === 'the tour of README.md') ?? {};
  assert.ok(steps.length > 10);
});

for (const session of all) {
  test(`${session.page}: every marked command prints the output shown in the page`, () =>
    run(session));
}

async function run({ steps, files }: Session): Promise<void> {
  const folder = temporaryFolder();
  for (const { name, text } of files) writeFileSync(join(folder, name), text);
  symlinkSync(PROGRAM, join(folder, 'gridnode'));
  const path = `${folder}${delimiter}${process.env.PATH}`;
  let member: Awaited<ReturnType<typeof serveWith>> | undefined;
  const stop = async (): Promise<void> => {
    member?.child.kill();
    await member?.exited;
  };
  let shown = shownPort('');
  let code = 0;
  try {
    for (const step of steps) {
      const serving = /^gridnode serve (.*?)( &)?$/.exec(step.command)?.[1];
      if (serving !== undefined) {
        shown = shownPort(step.command);
        const flags = wordsOf(serving.replace(/--port \d+/, ''));
        member = await serveWith({ isBuilt: true, cwd: folder }, ...flags);
      } else if (step.command === 'kill %1') await stop();
      else {
        const port = String(member?.port ?? shown);
        const env = { ...process.env, PATH: path, GRID_ADDRESS: `127.0.0.1:${port}` };
        // Restores `$?` of the previous shell.
        const command = `exec 2>&1; (exit ${code}); ${step.command.replaceAll(shown, port)}`;
        const options = { encoding: 'utf8', cwd: folder, env } as const;
        const { stdout, status } = spawnSync('bash', ['-c', command], options);
        code = status ?? 1;
        assertPrinted(stdout.replaceAll(port, shown), step);
      }
    }
  } finally {
    await stop();
  }
}
