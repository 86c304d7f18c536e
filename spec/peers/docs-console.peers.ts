/**
 * Runs the commands of the pages that need a shell, in bash, with the built program and curl. A
 * line `gridnode serve … &` starts a member on a free port, which replaces the port in the page.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import {
  assertPrinted,
  type Session,
  sessions,
  shownPort,
  wordsOf,
} from '../docs/console-blocks.ts';
import { ROOT } from '../docs/pages.ts';

const PROGRAM = join(ROOT, 'dist/bin/gridnode.js');

for (const session of sessions(false)) {
  test(`${session.page}: every marked command prints the output shown in the page`, () =>
    run(session));
}

async function run({ steps, files }: Session): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'docs-'));
  for (const { name, text } of files) writeFileSync(join(folder, name), text);
  symlinkSync(PROGRAM, join(folder, 'gridnode'));
  const path = `${folder}${delimiter}${process.env.PATH}`;
  let member: Member | undefined;
  let shown = shownPort('');
  let code = 0;
  try {
    for (const step of steps) {
      const serving = /^gridnode (serve .*?)( &)?$/.exec(step.command)?.[1];
      if (serving !== undefined) {
        shown = shownPort(step.command);
        member = await startMember(wordsOf(serving), folder);
      } else if (step.command === 'kill %1') {
        await member?.stop();
      } else {
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
    await member?.stop();
    rmSync(folder, { recursive: true });
  }
}

interface Member {
  readonly port: number;
  stop(): Promise<void>;
}

async function startMember(words: readonly string[], folder: string): Promise<Member> {
  const child = spawn(process.execPath, [PROGRAM, ...words, '--port', '0'], {
    ...{ cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, port } = JSON.parse(line) as { msg: string; port: number };
    if (msg !== 'listening') continue;
    child.stdout.resume();
    return { port, stop };
  }
  throw new Error(`gridnode ${words.join(' ')} ended with ${child.exitCode}`);
}
