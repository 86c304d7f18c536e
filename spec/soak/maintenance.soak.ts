/**
 * SOAK_SIZE / 5 rounds each of kill -9 at a random moment of a backup, a restore, a repair, and a
 * forced start of each kind, with ENTRIES entries on a real disk. After each round, a directory
 * that is marked as complete is complete; any other is refused, and the work can be repeated; no
 * byte of the old files is lost.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { programWords } from '../../bench/load/program.ts';
import { FileStorage } from '../../src/persistence/file-storage.ts';
import { repair } from '../../src/persistence/repair.ts';
import { restore } from '../../src/persistence/restore.ts';
import { RawClient } from '../integration/client.ts';
import { startWith } from '../integration/member-process.ts';
import { contentOf } from '../persistence/stored-model.ts';
import {
  maintenance,
  openPersistent,
  PARTITION_COUNT,
  recoveredContent,
  until,
} from '../persistence/subject.ts';

const KINDS = ['backup', 'restore', 'repair', 'forceStart', 'partialStart'] as const;
const ROUNDS = Math.ceil(Number(process.env.SOAK_SIZE ?? 100) / KINDS.length);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const ENTRIES = 6000;
const ITEMS = 1000;
const VALUE_BYTES = 2000;
const SEGMENT_BYTES = 1_048_576;

type Kind = (typeof KINDS)[number];

const random = new Random(SEED);
const root = mkdtempSync(join(tmpdir(), 'gridnode-maintenance-'));
const data = join(root, 'data');
const damaged = join(root, 'damaged');
const backup = join(root, 'backups', 'backup-1');
const target = join(root, 'target');
/** Commands that fill the target directory, with their flags. */
const FILLS = {
  restore: ['--from', backup, '--data-dir', target],
  repair: ['--data-dir', damaged, '--to', target],
};
/** Digests of the stored data, and of its readable part in the damaged directory. */
let whole = '';
let readable = '';

before(async () => {
  const subject = await openPersistent(new FileStorage(data), { segmentBytes: SEGMENT_BYTES });
  for (let key = 0; key < ENTRIES; key++) {
    subject.ask.set('m', `key ${key}`, random.bytes(VALUE_BYTES));
    if (key % 100 === 0) await subject.quiet();
  }
  for (let item = 0; item < ITEMS; item++) subject.ask.offer('q', random.bytes(100));
  whole = digestOf(contentOf(subject.engine));
  await until(subject.persistence.close(), subject.quiet);
  copy(data, damaged);
  const [name = ''] = readdirSync(damaged)
    .filter((each) => each.startsWith('log-'))
    .sort();
  const bytes = readFileSync(join(damaged, name));
  bytes.writeUInt8(bytes.readUInt8(5000) ^ 1, 5000);
  writeFileSync(join(damaged, name), bytes);
  const saved = join(root, 'saved');
  await salvage(damaged, saved);
  readable = digestOf(await contentIn(saved));
  const [child, port] = await serve(data, 'listening');
  assert.equal(await manage(port, 'backup'), 200);
  await kill(child);
});

after(() => rmSync(root, { recursive: true, force: true }));

for (const kind of KINDS) {
  test(`A killed ${kind} leaves complete data or data that is refused, in ${ROUNDS} rounds (seed ${SEED})`, async () => {
    const seen = { before: 0, under_way: 0, done: 0 };
    const longestMs = await timed(kind);
    for (let round = 0; round < ROUNDS; round++) {
      const state = await ROUND[kind](random.below(Math.ceil(longestMs * 1.1)));
      seen[state]++;
    }
    console.log(`${kind} of ${Math.round(longestMs)} ms: ${JSON.stringify(seen)}`);
  });
}

type State = 'before' | 'under_way' | 'done';

const ROUND: Readonly<Record<Kind, (killAfterMs: number) => Promise<State>>> = {
  async backup(killAfterMs) {
    const backups = join(root, 'backups');
    const others = () => readdirSync(backups).filter((name) => name !== 'backup-1');
    const isPart = (name: string) => name.endsWith('.tmp');
    for (const name of others()) {
      if (!isPart(name)) rmSync(join(backups, name), { recursive: true });
    }
    const [child, port] = await serve(data, 'listening');
    assert.ok(!existsSync(join(backups, 'backup-2')));
    const requested = manage(port, 'backup').catch(() => 0);
    await sleep(killAfterMs);
    await kill(child);
    const status = await requested;
    const parts = others().filter(isPart);
    const made = others().filter((name) => !isPart(name));
    assert.ok(status !== 200 || made.length === 1);
    for (const name of made) assert.equal(digestOf(await restored(join(backups, name))), whole);
    for (const name of parts) {
      await assert.rejects(restored(join(backups, name)), { code: 'BACKUP_NOT_WHOLE' });
    }
    return made.length > 0 ? 'done' : parts.length > 0 ? 'under_way' : 'before';
  },
  restore: (killAfterMs) =>
    killedFill('restore', killAfterMs, whole, async () => {
      await restore(new FileStorage(backup, true), new FileStorage(target));
    }),
  async repair(killAfterMs) {
    const old = filesIn(damaged);
    const again = () => salvage(damaged, target);
    const state = await killedFill('repair', killAfterMs, readable, again);
    assert.deepEqual(filesIn(damaged), old);
    return state;
  },
  forceStart: (killAfterMs) => killedStart('forceStart', killAfterMs, digestOf([])),
  partialStart: (killAfterMs) => killedStart('partialStart', killAfterMs, readable),
};

/**
 * Kills a command that fills the target directory, and asserts the state of the directory. `again`
 * repeats the work.
 */
async function killedFill(
  command: keyof typeof FILLS,
  killAfterMs: number,
  expected: string,
  again: () => Promise<void>,
): Promise<State> {
  const { child, exited } = await beginFill(command);
  await sleep(killAfterMs);
  child.kill('SIGKILL');
  await exited;
  const content = await contentIn(target).catch((error: { readonly code: string }) => error.code);
  if (content === 'DATA_NOT_WHOLE') {
    await again();
    assert.equal(digestOf(await contentIn(target)), expected);
    return 'under_way';
  }
  assert.ok(typeof content !== 'string', `refused with ${content}`);
  if (content.length === 0) return 'before';
  assert.equal(digestOf(content), expected);
  return 'done';
}

/** Kills a member during a forced start, and asserts the state of its directory. */
async function killedStart(start: string, killAfterMs: number, expected: string): Promise<State> {
  rmSync(target, { recursive: true, force: true });
  copy(damaged, target);
  const old = filesIn(target);
  const [child, port] = await serve(target, 'DATA_DAMAGED');
  const requested = manage(port, start).catch(() => 0);
  await sleep(killAfterMs);
  await kill(child);
  const status = await requested;
  assertKept(old);
  const content = await contentIn(target).catch((error: { readonly code: string }) => error.code);
  assertKept(old);
  if (content === 'DATA_DAMAGED') {
    assert.notEqual(status, 200);
    return readdirSync(target).some((name) => name.startsWith('damaged-')) ? 'under_way' : 'before';
  }
  assert.ok(typeof content !== 'string', `refused with ${content}`);
  assert.equal(digestOf(content), expected);
  return 'done';
}

/** Asserts that every old file with data is present, in its place or set aside. */
function assertKept(old: ReadonlyMap<string, string>): void {
  const now = filesIn(target);
  const aside = existsSync(join(target, 'damaged-1')) ? filesIn(join(target, 'damaged-1')) : now;
  for (const [name, digest] of old) {
    if (!name.startsWith('log-') && !name.startsWith('snapshot-')) continue;
    assert.ok(now.get(name) === digest || aside.get(name) === digest, `${name} is missing`);
  }
}

/** Returns the duration of the work, from the moment at which its rounds begin to count, in ms. */
async function timed(kind: Kind): Promise<number> {
  if (kind === 'restore' || kind === 'repair') {
    const { exited } = await beginFill(kind);
    const from = performance.now();
    assert.deepEqual(await exited, [0, null]);
    return performance.now() - from;
  }
  rmSync(target, { recursive: true, force: true });
  copy(damaged, target);
  const isBackup = kind === 'backup';
  const [child, port] = await serve(
    isBackup ? data : target,
    isBackup ? 'listening' : 'DATA_DAMAGED',
  );
  const from = performance.now();
  assert.equal(await manage(port, kind), 200);
  const ms = performance.now() - from;
  await kill(child);
  return ms;
}

/** Starts the command. Resolves once the target directory exists. */
async function beginFill(command: keyof typeof FILLS) {
  rmSync(target, { recursive: true, force: true });
  const words = [...programWords('bin/gridnode'), command, ...FILLS[command]];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  while (!existsSync(target) && child.exitCode === null) await sleep(1);
  return { child, exited };
}

/** Starts a member. Returns it once it logs `until`, with its port. */
async function serve(directory: string, until: string): Promise<[ChildProcess, number]> {
  const policy = 'PARTIAL_RECOVERY_MOST_COMPLETE';
  const environment = { GRID_PERSISTENCE_CLUSTERDATARECOVERYPOLICY: policy };
  const flags = ['--enable-group', 'all', '--partition-count', `${PARTITION_COUNT}`];
  const places = ['--data-dir', directory, '--backup-dir', join(root, 'backups')];
  const started = startWith({ environment }, ...flags, ...places);
  let port = 0;
  for (let index = 0; ; index++) {
    const line = await started.line(index);
    port = line.port ?? port;
    if (line.msg === until || line.code === until) return [started.child, port];
  }
}

async function manage(port: number, call: string): Promise<number> {
  const client = new RawClient(port);
  const body = Buffer.from('dev&');
  const { status } = await client.request('POST', `management/cluster/${call}`, body);
  client.destroy();
  return status;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('lock') });
}

async function contentIn(directory: string): Promise<string[]> {
  const storage = new FileStorage(directory);
  const reading = recoveredContent(storage, { segmentBytes: SEGMENT_BYTES });
  return await reading.finally(() => storage.close());
}

async function restored(from: string): Promise<string[]> {
  const into = join(root, 'restored');
  rmSync(into, { recursive: true, force: true });
  await restore(new FileStorage(from, true), new FileStorage(into));
  return await contentIn(into);
}

async function salvage(from: string, into: string): Promise<void> {
  await repair(maintenance({ source: new FileStorage(from, true) }), new FileStorage(into));
}

function filesIn(directory: string): Map<string, string> {
  const entries = readdirSync(directory, { withFileTypes: true }).filter((each) => each.isFile());
  return new Map(
    entries.map(({ name }) => [name, digestOf([readFileSync(join(directory, name))])]),
  );
}

function digestOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
