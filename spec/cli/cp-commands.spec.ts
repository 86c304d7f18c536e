/**
 * Covers src/cli/cp-commands.ts, cp-calls.ts, cp-lock.ts and locked-command.ts: locks from the command
 * line against a member, programs that run while a lock is held, and the administration of CP.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isatty } from 'node:tty';
import { programWords } from '../../bench/load/program.ts';
import type { Member } from '../../src/member/member.ts';
import { memberWith } from '../integration/member-on.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { start } from './gridnode-process.ts';
import { run as runCommand } from './run-command.ts';

const folder = temporaryFolder();
let member: Member;
/** A member whose sessions end after 3 s without a heartbeat. */
let short: Member;

before(async () => {
  member = await memberWith({}, ['CP']);
  short = await memberWith({ cpSessionSeconds: '3' }, ['CP']);
});

after(async () => {
  await member.drain();
  await short.drain();
});

function addressOf({ port }: Member): string {
  return `127.0.0.1:${port}`;
}

async function run(...words: string[]) {
  return await runCommand('cp', ...words, '--address', addressOf(member));
}

async function runJson(...words: string[]) {
  const { code, output, errors } = await run(...words, '--json');
  assert.deepEqual([code, errors], [0, ''], output);
  return JSON.parse(output);
}

/** Takes a lock, and returns its fence and session. */
async function taken(lock: string, ...words: string[]): Promise<[string, string]> {
  const { code, output, errors } = await run('lock', lock, ...words);
  assert.deepEqual([code, errors], [0, '']);
  const [, fence, session] = /^(\d+) (\d+)\n$/.exec(output) ?? [];
  return [fence ?? '', session ?? ''];
}

/** Runs a command while it holds the lock. Its output is that of this process. */
async function runLocked(of: Member, words: string[], ...command: string[]) {
  return await runCommand('cp', 'lock', ...words, '--address', addressOf(of), '--', ...command);
}

/** Starts a shell while it holds the lock, and waits until it has created the file `$0`. */
async function startLocked(of: Member, lock: string, script: string) {
  const file = newFile();
  const running = runLocked(of, [lock], 'sh', '-c', script, file);
  await until(async () => existsSync(file));
  // A promise that an async function returns would be awaited.
  return { running };
}

function newFile(): string {
  return join(folder, String(Math.random()));
}

async function isHeld(lock: string, of = member): Promise<boolean> {
  const response = await fetch(`http://${addressOf(of)}/grid/v1/cp/default/locks/${lock}`);
  return response.status === 200;
}

test('cp lock prints a fence and a session, which heartbeat, unlock and close-session use', async () => {
  const [fence, session] = await taken('l');
  const { code, output, errors } = await run('lock', 'l');
  assert.deepEqual([code, output], [1, '']);
  assert.match(errors, /^Refused with 409: Cannot take lock "l": another session holds it\n$/);
  const done = { code: 0, output: '', errors: '' };
  assert.deepEqual(await run('heartbeat', session), done);
  assert.deepEqual(await run('lock', 'l', '--session', session), {
    ...{ code: 0, errors: '' },
    output: `${fence} ${session}\n`,
  });
  assert.deepEqual(await run('unlock', 'l', session), done);
  const again = await run('unlock', 'l', session);
  assert.equal(again.code, 1);
  assert.match(again.errors, /^Refused with 409: Cannot release lock "l"/);
  const next = await runJson('lock', 'l', '--session', session);
  assert.deepEqual(next, {
    group: 'default',
    lock: 'l',
    fence: next.fence,
    session: Number(session),
  });
  assert.ok(next.fence > Number(fence));
  assert.deepEqual(await runJson('close-session', session), { done: true });
  assert.equal(await isHeld('l'), false);
  for (const word of ['heartbeat', 'close-session']) {
    const ended = await run(word, session);
    assert.equal(ended.code, 1);
    assert.match(ended.errors, /^Refused with 404: .* it does not exist, or has ended\n$/);
  }
});

test('cp lock has groups, and closes the session that does not get its lock', async () => {
  const [, session] = await taken('l', '--group', 'a/b é');
  assert.equal((await run('lock', 'l', '--group', 'a/b é')).code, 1);
  assert.equal((await run('lock', 'l', '--group', 'a/b é', '--wait', '1')).code, 1);
  const sessions = await runJson('sessions', 'a/b é');
  assert.deepEqual(
    sessions.map(({ id }: { id: number }) => id),
    [Number(session)],
  );
  assert.match(sessions[0].endpointName, /\/\d+$/);
  const [, other] = await taken('l', '--group', 'other');
  assert.notEqual(other, session);
});

test('cp refuses names, sessions and waits that cannot be used', async () => {
  for (const [words, message] of [
    [['lock', ''], /Cannot use "" as a lock: it is empty/],
    [['lock', 'l', '--group', ''], /Cannot use "" as a group: it is empty/],
    [['lock', '\u{fffd}'], /Cannot use .* as a lock: U\+FFFD/],
    [['group', '\u{fffd}'], /Cannot use .* as a name: U\+FFFD/],
    [['lock', 'l', '--wait', '-1'], /Cannot use --wait "-1": not an integer from 0 to 2147483/],
    [['lock', 'l', '--wait', '2147484'], /Cannot use --wait/],
    [['lock', 'l', '--session', 'x'], /Cannot use "x" as a session/],
    [['heartbeat', '99999999999999999'], /Cannot use "99999999999999999" as a session/],
    [['lock', 'l', '--session', '1', 'true'], /Cannot run "true" with --session/],
  ] as const) {
    const { code, output, errors } = await run(...words);
    assert.deepEqual([code, output], [2, ''], words.join(' '));
    assert.match(errors, message);
  }
  const long = await run('lock', 'l'.repeat(256));
  assert.equal(long.code, 4);
  assert.match(long.errors, /^Refused with 400: Cannot use a lock of 256 bytes/);
});

test('the administration of CP prints and changes groups, sessions and members', async () => {
  const [, session] = await taken('l', '--group', 'g');
  const groups = await run('groups');
  assert.equal(groups.code, 0);
  assert.match(groups.output, /^0 {2}METADATA\n(\d+ {2}.*\n)*\d+ {2}g\n/);
  const [{ uuid, address }] = await runJson('members');
  assert.equal((await run('local')).output, `${uuid}  ${address}\n`);
  const group = await run('group', 'g');
  assert.match(group.output, /^\d+ {2}g {2}ACTIVE\n/);
  assert.ok(group.output.endsWith(`${uuid}  ${address}\n`));
  const time = '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z';
  assert.match(
    (await run('sessions', 'g')).output,
    new RegExp(`^${session}  127\\.0\\.0\\.1\\S*  since ${time}  until ${time}  \\S+/\\d+\n$`),
  );
  const absent = await run('group', 'none');
  assert.equal(absent.code, 4);
  assert.match(absent.errors, /^Refused with 404: there is no such CP group or member, or/);
  const done = { code: 0, output: 'done\n', errors: '' };
  assert.deepEqual(await run('promote'), done);
  assert.deepEqual(await runJson('promote'), { done: true });
  assert.deepEqual(await run('remove-group', 'g'), done);
  assert.equal((await run('group', 'g')).code, 4);
  const alive = await run('remove-member', uuid);
  assert.equal(alive.code, 4);
  assert.match(alive.errors, /it is alive/);
  const wrong = await run('reset', '--cluster-name', 'other');
  assert.equal(wrong.code, 4);
  assert.match(wrong.errors, /--cluster-name "other" is wrong/);
  await taken('l', '--group', 'g');
  assert.deepEqual(await run('reset'), done);
  assert.deepEqual(await runJson('groups'), [{ name: 'METADATA', id: 0 }]);
});

test('cp lock runs a command with the fence, and ends with its exit code', async () => {
  const file = newFile();
  const script = 'echo "$GRID_FENCE" >>"$0"; exit 7';
  const ended = { code: 7, output: '', errors: '' };
  assert.deepEqual(await runLocked(member, ['job'], 'sh', '-c', script, file), ended);
  assert.equal(await isHeld('job'), false);
  assert.deepEqual(await runLocked(member, ['job'], 'sh', '-c', script, file), ended);
  const [one = 0, two = 0] = readFileSync(file, 'utf8').split('\n').map(Number);
  assert.ok(one > 0 && two > one);
  assert.deepEqual(await runJson('sessions', 'default'), [], 'the sessions are closed');
  assert.equal((await runLocked(member, ['job'], 'sh', '-c', 'kill -9 $$')).code, 137);
  const absent = await runLocked(member, ['job'], newFile());
  assert.equal(absent.code, 127);
  assert.match(absent.errors, /^Cannot run ".*": spawn .* ENOENT\n$/);
  assert.equal((await runLocked(member, ['job'], file)).code, 126);
  assert.equal(await isHeld('job'), false);
});

test('the command of cp lock has the standard streams of its process, and its signals', async () => {
  const words = ['cp', 'lock', 'streams', '--address', addressOf(member), '--', 'sh', '-c'];
  const child = start([...words, 'read line; echo errors >&2; echo "$line"; sleep 600 & wait']);
  let errors = '';
  child.stderr?.on('data', (text) => {
    errors += text;
  });
  child.stdin?.write('a line\n');
  const [output] = await once(child.stdout!, 'data');
  assert.equal(String(output), 'a line\n');
  assert.equal(await isHeld('streams'), true);
  child.kill('SIGTERM');
  // Also the process that the shell has started ends: it would hold the output open.
  const [code] = await once(child, 'close');
  assert.deepEqual([code, errors], [143, 'errors\n']);
  assert.equal(await isHeld('streams'), false);
});

test('cp lock waits for the lock, and does not run the command without it', async () => {
  const [, session] = await taken('wait');
  const file = newFile();
  const refused = await runLocked(member, ['wait'], 'touch', file);
  assert.deepEqual([refused.code, existsSync(file)], [1, false]);
  const waiting = runLocked(member, ['wait', '--wait', '60'], 'touch', file);
  await until(async () => (await runJson('sessions', 'default')).length === 2);
  assert.equal(existsSync(file), false);
  await run('unlock', 'wait', session);
  assert.equal((await waiting).code, 0);
  assert.ok(existsSync(file));
  await run('close-session', session);
});

test('cp lock keeps the session while it waits and while the command runs', async () => {
  const file = newFile();
  const script = 'touch "$0"; until [ -f "$1" ]; do sleep 0.1; done';
  const holding = runLocked(short, ['keep'], 'sh', '-c', script, newFile(), file);
  await until(async () => await isHeld('keep', short));
  const next = runLocked(short, ['keep', '--wait', '60'], 'true');
  // The version of a session is the number of its heartbeats.
  await until(async () => {
    const sessions = await sessionsOf(short);
    return sessions.length === 2 && sessions.every(({ version }) => version >= 3);
  });
  writeFileSync(file, '');
  const done = { code: 0, output: '', errors: '' };
  assert.deepEqual([await holding, await next], [done, done]);
});

for (const [signal, code] of [
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['SIGHUP', 129],
] as const) {
  test(`cp lock passes ${signal} to the command, and then releases the lock`, async (t) => {
    if (signal === 'SIGINT' && [0, 1, 2].some((descriptor) => isatty(descriptor))) {
      t.skip('the terminal sends SIGINT to the command');
      return;
    }
    const { running } = await startLocked(member, signal, 'touch "$0"; exec sleep 600');
    assert.equal(await isHeld(signal), true);
    process.emit(signal, signal);
    assert.deepEqual(await running, { code, output: '', errors: '' });
    assert.equal(await isHeld(signal), false);
    assert.equal(process.listenerCount(signal), 0);
  });
}

test('cp lock leaves the end to a command that handles the signal', async () => {
  const script = 'trap "exit 5" TERM; touch "$0"; while :; do sleep 0.1; done';
  const { running } = await startLocked(member, 'trap', script);
  process.emit('SIGTERM', 'SIGTERM');
  assert.equal((await running).code, 5);
  assert.equal(await isHeld('trap'), false);
});

test('a signal ends the wait for a lock', async () => {
  const [, session] = await taken('signal');
  const waiting = runLocked(member, ['signal', '--wait', '600'], 'true');
  await until(async () => (await runJson('sessions', 'default')).length === 2);
  process.emit('SIGTERM', 'SIGTERM');
  assert.deepEqual(await waiting, { code: 143, output: '', errors: '' });
  assert.equal((await runJson('sessions', 'default')).length, 1, 'its session is closed');
  await run('close-session', session);
});

test('cp lock ends the command if its session is lost, even one that ignores SIGTERM', async () => {
  const script = 'trap "" TERM; touch "$0"; while :; do sleep 0.1; done';
  const { running } = await startLocked(short, 'lost', script);
  await closeSessions();
  const { code, errors } = await running;
  assert.equal(code, 137);
  assert.match(errors, /^Lost CP session \d+: ending "sh"\n$/);
});

test('the exit code of a command whose session is lost is not 0', async () => {
  const script = 'trap "exit 0" TERM; touch "$0"; while :; do sleep 0.1; done';
  const { running } = await startLocked(short, 'lost', script);
  await closeSessions();
  assert.equal((await running).code, 1);
});

test('cp lock ends the command before the session ends if the member is silent', async () => {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('heartbeat')) return;
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"id":1,"creationTime":0,"expirationTime":1200,"fence":5}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const words = ['cp', 'lock', 'l', '--address', `127.0.0.1:${port}`, '--'];
  const { code, errors } = await runCommand(...words, 'sleep', '600');
  assert.equal(code, 143);
  assert.match(errors, /^Lost CP session 1: ending "sleep"\n$/);
  server.closeAllConnections();
  server.close();
});

test('a reader that closes standard output before the lock is printed ends the session', async () => {
  const words = ['cp', 'lock', 'pipe', '--address', addressOf(member)];
  const program = [process.execPath, ...programWords('bin/gridnode'), ...words];
  const script = 'set -o pipefail; "$@" | true';
  const shell = spawn('bash', ['-c', script, 'bash', ...program]);
  const [code] = await once(shell, 'close');
  assert.equal(code, 141);
  assert.equal(await isHeld('pipe'), false);
});

test('without a member the exit code is 3, and without the group it is 4', async () => {
  const words = ['cp', 'lock', 'l', '--address'];
  assert.equal((await runCommand(...words, '127.0.0.1:1')).code, 3);
  const other = await memberWith({}, []);
  const { code, errors } = await runCommand(...words, addressOf(other));
  await other.drain();
  assert.equal(code, 4);
  assert.match(errors, /^Refused with 403: .*CP/);
});

interface ListedSession {
  readonly id: number;
  readonly version: number;
}

async function sessionsOf(of: Member): Promise<readonly ListedSession[]> {
  const path = `http://${addressOf(of)}/grid/rest/cp-subsystem/groups/default/sessions`;
  return (await (await fetch(path)).json()) as readonly ListedSession[];
}

/** Closes all sessions of the member with short ones. */
async function closeSessions(): Promise<void> {
  for (const { id } of await sessionsOf(short)) {
    const words = ['close-session', String(id), '--address', addressOf(short)];
    assert.equal((await runCommand('cp', ...words)).code, 0);
  }
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setImmediate(resolve));
}
