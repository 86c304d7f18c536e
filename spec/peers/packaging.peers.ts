/**
 * The unit and the Containerfile of packaging/: systemd verifies the unit, and a member runs with the
 * commands of the image. Only soaks boot systemd and build the image. proxies.peers.ts and
 * kubernetes.peers.ts test the other examples.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { start } from '../integration/member-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { packaged } from './packaged-files.ts';
import { ROOT, runChecked } from './tools.ts';

/** Limit for the stop of a member after its shutdown delay, in s (src/cli/serve.ts). */
const STOP_SECONDS_MAX = 11;

const folder = temporaryFolder();

const PROGRAM = join(ROOT, 'dist/bin/gridnode.js');

/** Runs a program of a Debian package; returns its output. */
function outputOf(program: string, debian: string, words: readonly string[]): string {
  const { error, status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  assert.equal(error, undefined, `Cannot run ${program}: apt-get install ${debian}`);
  assert.equal(status, 0, stdout + stderr);
  return stdout + stderr;
}

test('systemd reports no problem in the unit', () => {
  const unit = join(folder, 'gridnode.service');
  writeFileSync(unit, packaged('gridnode.service').replace('/usr/local/bin/gridnode', PROGRAM));
  assert.equal(outputOf('systemd-analyze', 'systemd', ['verify', unit]), '');
});

test('the unit allows a member enough time to start and stop', () => {
  const unit = packaged('gridnode.service');
  const value = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
  assert.deepEqual([value('Type'), value('NotifyAccess')], ['notify', 'all']);
  assert.equal(value('TimeoutStartSec'), 'infinity');
  const delay = Number(/--shutdown-delay-seconds (\d+)/.exec(value('ExecStart'))?.[1]);
  assert.ok(Number(value('TimeoutStopSec')) > delay + STOP_SECONDS_MAX);
});

/** Prints the datagrams sent to a Unix socket, one per line. Node does not support such sockets. */
const RECEIVER = `
  socket(my $socket, PF_UNIX, SOCK_DGRAM, 0) or die $!;
  bind($socket, pack_sockaddr_un($ARGV[0])) or die $!;
  $| = 1; print "bound\\n";
  while (defined recv($socket, my $text, 4096, 0)) { print "$text\\n"; }`;

test('a member notifies systemd when it serves and when it stops', {
  timeout: 60_000,
}, async (t) => {
  const socket = join(folder, 'notify');
  const receiver = spawn('perl', ['-MSocket', '-e', RECEIVER, socket]);
  t.after(() => receiver.kill());
  let received = '';
  receiver.stdout.on('data', (bytes) => {
    received += bytes;
  });
  await once(receiver.stdout, 'data');
  process.env.NOTIFY_SOCKET = socket;
  const member = start();
  delete process.env.NOTIFY_SOCKET;
  while (!received.includes('READY=1')) await sleep(10);
  assert.ok(member.lines.some(({ msg }) => msg === 'listening'));
  assert.ok(!received.includes('STOPPING=1'));
  member.child.kill('SIGTERM');
  assert.deepEqual(await member.exited, [0, null]);
  while (!received.includes('STOPPING=1')) await sleep(10);
  assert.ok(member.lines.every(({ level }) => level === 'info'));
});

test('the files that .dockerignore lists are enough to build the package', async () => {
  const clone = join(folder, 'clone');
  const modules = join(clone, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  const listed = readFileSync(join(ROOT, '.dockerignore'), 'utf8').matchAll(/^!(.*)$/gm);
  for (const [, name = ''] of listed) {
    cpSync(join(ROOT, name), join(clone, name), { recursive: true, preserveTimestamps: true });
  }
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    const installed = join(ROOT, 'node_modules', name);
    if (name === '.installed') writeFileSync(join(modules, name), '');
    else if (name !== '.bin') symlinkSync(installed, join(modules, name));
  }
  for (const name of readdirSync(join(ROOT, 'node_modules/.bin'))) {
    symlinkSync(join(ROOT, 'node_modules/.bin', name), join(modules, '.bin', name));
  }
  await runChecked('make', ['build'], { cwd: clone });
  assert.deepEqual(await packedFiles(clone), await packedFiles(ROOT));
});

async function packedFiles(cwd: string): Promise<string[]> {
  const printed = await runChecked('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], {
    cwd,
  });
  const [packed] = JSON.parse(printed.slice(printed.indexOf('[\n'), printed.lastIndexOf(']') + 1));
  return packed.files.map(({ path }: { path: string }) => path);
}

/** The words of an instruction in exec form, in the last stage of the Containerfile. */
function wordsOf(instruction: string): string[] {
  const text = packaged('Containerfile').replace(/\\\n/g, ' ');
  const stage = text.slice(text.lastIndexOf('\nFROM'));
  const found = new RegExp(`^${instruction}\\b[^[\\n]*(\\[.*\\])$`, 'm').exec(stage)?.[1];
  assert.ok(found, `no exec form of ${instruction}`);
  return JSON.parse(found);
}

test('the commands of the image start a member and check its health, without a shell', async (t) => {
  const [entry, command, check] = ['ENTRYPOINT', 'CMD', 'HEALTHCHECK'].map(wordsOf);
  assert.ok(entry && command && check);
  const installed = '/opt/gridnode/lib/node_modules/gridnode/dist/bin/gridnode.js';
  const port = await freePort();
  /** Adapts the words to this machine: its Node, the built program, a free port. */
  const adapted = (words: readonly string[]): string[] =>
    words.map((word) =>
      word
        .replace(installed, PROGRAM)
        .replace('/usr/local/bin/node', process.execPath)
        .replace(/\b8080$/, String(port))
        .replace('/data', join(folder, 'image'))
        .replace('0.0.0.0', '127.0.0.1'),
    );
  const options = { env: {}, stdio: 'ignore' } as const;
  const [node = '', ...words] = adapted([...entry, ...command, '--port', '0']);
  const member = spawn(node, words, options);
  t.after(() => stop(member));
  const [checkProgram = '', ...checkWords] = adapted(check);
  const checkCode = async (): Promise<number | null> => {
    const [code] = await once(spawn(checkProgram, checkWords, options), 'exit');
    return code;
  };
  while ((await checkCode()) !== 0) assert.equal(member.exitCode, null);
  await stop(member);
  assert.equal(member.exitCode, 0);
  assert.notEqual(await checkCode(), 0);
});

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
