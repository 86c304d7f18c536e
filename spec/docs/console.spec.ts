/**
 * Runs the `gridnode` commands of the pages in this process, including members:
 * `gridnode serve … &` starts one on a free port, which replaces the port in the page and its
 * files, and `kill %1` stops the first one. With several members, reads are repeated, as changes
 * take time to arrive. spec/peers/docs-console.peers.ts runs the blocks that need a shell or other
 * programs.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assignmentsOf } from '../../src/config/setting-table.ts';
import { loadConfig } from '../../src/member/load.ts';
import type { Member } from '../../src/member/member.ts';
import { SETTING_FLAGS } from '../../src/member/settings.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { runWith } from '../cli/run-command.ts';
import { freePort } from '../free-port.ts';
import { startQuietly } from '../integration/member-on.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import {
  assertPrinted,
  mayRepeat,
  type Session,
  type Step,
  serveStepsOf,
  sessions,
  shownPort,
  stepsOf,
  wordsOf,
} from './console-blocks.ts';

/** Time for which a read is repeated, in ms. */
const REPEAT_MS = 10_000;

for (const session of sessions(true)) {
  test(`${session.page}: every marked command prints the output shown in the page`, () =>
    run(session));
}

async function run(session: Session): Promise<void> {
  const { steps, files } = session;
  const before = process.cwd();
  process.chdir(temporaryFolder());
  const ports = await freePorts(session);
  for (const { name, text } of files) writeFileSync(name, withPorts(text, ports));
  /** Members by job number, minus one. */
  const members: (Member | undefined)[] = [];
  let address = '127.0.0.1:5701';
  let code = 0;
  try {
    for (const step of steps) {
      const [name, ...words] = wordsOf(step.command.replace(/ &$/, ''));
      if (name === 'kill') await stopJob(members, Number(words[0]?.slice(1)) - 1);
      else if (name === 'echo') assertPrinted(String(code), step);
      else if (words[0] === 'serve') {
        const member = await startJob(words.slice(1), ports.get(shownPort(step.command)) ?? '0');
        if (members.length === 0) address = `127.0.0.1:${member.port}`;
        members.push(member);
      } else code = await runStep(session, step, ports, address);
    }
  } finally {
    for (const member of members) member?.abort();
    for (const member of members) await member?.drain();
    process.chdir(before);
  }
}

/** Stops a job. Job numbers restart once all jobs have ended, as in a shell. */
async function stopJob(members: (Member | undefined)[], index: number): Promise<void> {
  await members[index]?.drain();
  members[index] = undefined;
  if (members.every((member) => member === undefined)) members.length = 0;
}

/** A free port for each port of a member in the page. */
async function freePorts({ steps }: Session): Promise<ReadonlyMap<string, string>> {
  const shown = new Set(serveStepsOf(steps).map(({ command }) => shownPort(command)));
  const ports = new Map<string, string>();
  for (const port of shown) ports.set(port, String(await freePort()));
  return ports;
}

function withPorts(text: string, ports: ReadonlyMap<string, string>): string {
  return [...ports].reduce((all, [shown, port]) => all.replaceAll(shown, port), text);
}

function withShown(text: string, ports: ReadonlyMap<string, string>): string {
  return [...ports].reduce((all, [shown, port]) => all.replaceAll(port, shown), text);
}

async function runStep(
  session: Session,
  step: Step,
  ports: ReadonlyMap<string, string>,
  address: string,
): Promise<number> {
  const endMs = performance.now() + REPEAT_MS;
  for (;;) {
    try {
      return await runCommand(step, ports, address);
    } catch (error) {
      if (!mayRepeat(session, step) || performance.now() > endMs) throw error;
    }
    await sleep(20);
  }
}

async function startJob(words: readonly string[], port: string): Promise<Member> {
  const flags = [];
  let file: string | undefined;
  for (let at = 0; at < words.length; at += 2) {
    const [name = '', text = ''] = words.slice(at);
    if (name === '--config') file = text;
    const flag = SETTING_FLAGS.find((each) => each.flag.name === name);
    if (flag !== undefined) flags.push(...assignmentsOf(flag, text));
    assert.ok(flag !== undefined || name === '--config', name);
  }
  const free = { key: 'port', text: port, source: { kind: 'flag', name: '--port' } } as const;
  const loaded = await loadConfig({ file, environment: {}, flags: [...flags, free] });
  return await startQuietly(loaded.config, createLog('OFF', { write: () => {} }));
}

/** Runs `NAME=value… gridnode …` with free ports instead of those shown; returns the exit code. */
async function runCommand(
  step: Step,
  ports: ReadonlyMap<string, string>,
  address: string,
): Promise<number> {
  const words = wordsOf(withPorts(step.command, ports));
  const environment: Record<string, string> = { GRID_ADDRESS: address };
  while (words[0]?.includes('=')) {
    const [name = '', value = ''] = words.shift()?.split('=') ?? [];
    environment[name] = value;
  }
  const { code, output, errors } = await runWith(environment, words.slice(1));
  assertPrinted(withShown(output + errors, ports), step);
  return code;
}

test('assertPrinted compares the output with the page line by line; … matches any text', () => {
  const [step] = stepsOf("$ gridnode a \\\n    'b c'\none … three\n…\nfive\n", 'p.md:1');
  assert.ok(step !== undefined);
  assert.deepEqual(wordsOf(step.command), ['gridnode', 'a', 'b c']);
  assertPrinted('one two three\nfour\nfour\nfive\n', step);
  assertPrinted('one two three\nfive', step);
  assert.throws(() => assertPrinted('one two\nfive', step), /p\.md:1/);
});
