/**
 * Runs what pages show of `gridnode` in this process, members too: `gridnode serve … &` starts one on
 * a free port, which stands for the page's own, `kill %1` stops it. Blocks that need a shell or
 * other programs are run by spec/peers/docs-console.peers.ts.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { runCli } from '../../src/cli/main.ts';
import { assignmentsOf, SETTING_FLAGS } from '../../src/config/flags.ts';
import { loadConfig } from '../../src/config/load.ts';
import { type Member, startMember } from '../../src/member.ts';
import { createLog } from '../../src/telemetry/log.ts';
import {
  assertPrinted,
  type Session,
  type Step,
  sessions,
  shownPort,
  stepsOf,
  wordsOf,
} from './console-blocks.ts';

const FREE_PORT = [{ key: 'port', text: '0', source: { kind: 'flag', name: '--port' } }] as const;

for (const session of sessions(true)) {
  test(`${session.page}: every marked command prints what the page says`, () => run(session));
}

async function run({ steps, files }: Session): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'docs-'));
  const before = process.cwd();
  process.chdir(folder);
  for (const { name, text } of files) writeFileSync(name, text);
  let member: Member | undefined;
  let shown = shownPort('');
  let code = 0;
  try {
    for (const step of steps) {
      const [name, ...words] = wordsOf(step.command.replace(/ &$/, ''));
      if (name === 'kill') await member?.drain();
      else if (name === 'echo') assertPrinted(String(code), step);
      else if (words[0] === 'serve') {
        shown = shownPort(step.command);
        member = await started(words.slice(1));
      } else code = await typed(step, shown, String(member?.port ?? shown));
    }
  } finally {
    member?.abort();
    await member?.drain();
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
}

async function started(words: readonly string[]): Promise<Member> {
  const flags = [];
  let file: string | undefined;
  for (let at = 0; at < words.length; at += 2) {
    const [name = '', text = ''] = words.slice(at);
    if (name === '--config') file = text;
    const flag = SETTING_FLAGS.find((each) => each.flag.name === name);
    if (flag !== undefined) flags.push(...assignmentsOf(flag, text));
    assert.ok(flag !== undefined || name === '--config', name);
  }
  const loaded = await loadConfig({ file, environment: {}, flags: [...flags, ...FREE_PORT] });
  return await startMember(loaded.config, createLog('OFF', { write: () => {} }));
}

/** Runs `NAME=value… gridnode …` with that port in place of the shown one; returns its exit code. */
async function typed(step: Step, shown: string, port: string): Promise<number> {
  const words = wordsOf(step.command.replaceAll(shown, port));
  const environment: Record<string, string> = { GRID_ADDRESS: `127.0.0.1:${port}` };
  while (words[0]?.includes('=')) {
    const [name = '', value = ''] = words.shift()?.split('=') ?? [];
    environment[name] = value;
  }
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const kept = { ...process.env };
  Object.assign(process.env, environment);
  try {
    const code = await runCli(words.slice(1), { stdin: Readable.from([]), stdout, stderr });
    const printed = `${stdout.read() ?? ''}${stderr.read() ?? ''}`;
    assertPrinted(printed.replaceAll(port, shown), step);
    return code;
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, kept);
  }
}

test('the output is compared with the page line by line, … for any text', () => {
  const [step] = stepsOf("$ gridnode a \\\n    'b c'\none … three\n…\nfive\n", 'p.md:1');
  assert.ok(step !== undefined);
  assert.deepEqual(wordsOf(step.command), ['gridnode', 'a', 'b c']);
  assertPrinted('one two three\nfour\nfour\nfive\n', step);
  assertPrinted('one two three\nfive', step);
  assert.throws(() => assertPrinted('one two\nfive', step), /p\.md:1/);
});
